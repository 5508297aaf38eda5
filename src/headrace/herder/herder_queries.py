# SPDX-License-Identifier: Apache-2.0
"""Answers about connectors from the newest known state of the config and status topics, from any thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from headrace import KAFKA_VERSION, __version__
from headrace.config.worker_config import TOPIC_TRACKING, TOPIC_TRACKING_RESET, WorkerConfig
from headrace.herder.errors import ForbiddenError, NotFoundError
from headrace.model.cluster_config_state import ClusterConfigState, Config
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorState,
    ConnectorStateInfo,
    PluginInfo,
    ServerInfo,
    TaskInfo,
    TaskState,
)
from headrace.model.state import ConnectorStatus, TaskStatus, TopicStatus

_CONNECTOR_TYPES = ("sink", "source", "unknown")
"""A broken connector is of type unknown; it is listed with its error."""


class Statuses(Protocol):
    """The statuses in the status topic."""

    def connector(self, name: str) -> ConnectorStatus | None: ...

    def task(self, id: ConnectorTaskId) -> TaskStatus | None: ...

    def tasks(self, connector: str) -> Sequence[TaskStatus]: ...

    def topics(self, connector: str) -> Sequence[TopicStatus]: ...

    def revision(self) -> int:
        """Return another number after each change."""


class HerderQueries:
    """Nothing here blocks, but the first answer about a connector's type may have to import its class."""

    def __init__(
        self,
        config: Callable[[], ClusterConfigState],
        statuses: Statuses,
        connector_type: Callable[[Config], str],
        plugins: Callable[[], Sequence[PluginInfo]],
        cluster_id: Callable[[], str | None],
    ) -> None:
        self._config = config
        self._statuses = statuses
        self._connector_type = connector_type
        self._plugins = plugins
        self._cluster_id = cluster_id

    def server_info(self) -> ServerInfo:
        """Return the versions; ``commit`` is unknown: a release is identified by its version."""
        return ServerInfo(KAFKA_VERSION, "unknown", self._cluster_id(), __version__)

    def connectors(self) -> tuple[str, ...]:
        return self._config().connectors()

    def revision(self) -> tuple[int, int]:
        """Return another value after each change of a configuration or status."""
        return self._config().offset, self._statuses.revision()

    def connector_info(self, name: str) -> ConnectorInfo:
        state = self._config()
        return ConnectorInfo(name, self._existing(state, name), state.tasks(name), self._type(state, name))

    def check_connector(self, name: str) -> None:
        """Raise NotFoundError if there is no such connector."""
        self._existing(self._config(), name)

    def describe_connector(self, name: str, config: Config) -> ConnectorInfo:
        """Describe a connector that has just been given ``config``, whatever has become of it since."""
        return ConnectorInfo(name, config, self._config().tasks(name), self._connector_type(config))

    def workers(self) -> frozenset[str]:
        """Return the ids of all workers that the statuses of connectors and tasks name."""
        names = self._config().connectors()
        connectors = (self._statuses.connector(name) for name in names)
        tasks = (task for name in names for task in self._statuses.tasks(name))
        return frozenset(each.worker_id for each in (*connectors, *tasks) if each is not None and each.worker_id)

    def connector_status(self, name: str) -> ConnectorStateInfo:
        """Raise NotFoundError for a connector without a status too, as in Kafka Connect."""
        state = self._config()
        self._existing(state, name)
        status = self._statuses.connector(name)
        if status is None:
            raise NotFoundError(f"No status found for connector {name}")
        connector = ConnectorState(status.state.value, status.worker_id, status.trace, status.version)
        ordered = tuple(sorted(map(_task_state, self._statuses.tasks(name)), key=lambda task: task.id))
        return ConnectorStateInfo(name, connector, ordered, self._type(state, name))

    def task_status(self, id: ConnectorTaskId) -> TaskState:
        """Raise NotFoundError for a task without a status too."""
        self._existing(self._config(), id.connector)
        status = self._statuses.task(id)
        if status is None:
            raise NotFoundError(f"No status found for task {id}")
        return _task_state(status)

    def active_topics(self, name: str) -> tuple[str, ...]:
        """Return the topics, also those of a connector that does not exist, as in Kafka Connect."""
        return tuple(sorted(status.topic for status in self._statuses.topics(name)))

    def task_infos(self, name: str) -> tuple[TaskInfo, ...]:
        state = self._config()
        self._existing(state, name)
        return tuple(TaskInfo(id, state.task_configs[id]) for id in state.tasks(name) if id in state.task_configs)

    def connector_plugins(self, connectors_only: bool) -> tuple[PluginInfo, ...]:
        """Return connectors alone, as ``GET /connector-plugins`` by default, or transformations and others too."""
        plugins = self._plugins()
        return tuple(plugin for plugin in plugins if not connectors_only or plugin.type in _CONNECTOR_TYPES)

    def _existing(self, state: ClusterConfigState, name: str) -> Config:
        config = state.connector_config(name)
        if config is None:
            raise NotFoundError(f"Connector {name} not found")
        return config

    def _type(self, state: ClusterConfigState, name: str) -> str:
        return self._connector_type(self._existing(state, name))


def _task_state(status: TaskStatus) -> TaskState:
    return TaskState(status.id.task, status.state.value, status.worker_id, status.trace, status.version)


def check_topic_tracking(worker: WorkerConfig) -> None:
    """Raise ForbiddenError unless the worker tracks them."""
    if not worker.topic_tracking:
        raise ForbiddenError(f"Topic tracking is disabled ({TOPIC_TRACKING}=false)")


def check_topic_reset(worker: WorkerConfig) -> None:
    """Raise ForbiddenError unless the worker tracks them and users may reset them."""
    check_topic_tracking(worker)
    if not worker.topic_tracking_reset:
        raise ForbiddenError(f"A reset of topic tracking is disabled ({TOPIC_TRACKING_RESET}=false)")
