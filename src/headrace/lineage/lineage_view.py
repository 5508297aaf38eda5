# SPDX-License-Identifier: Apache-2.0
"""The connectors of a worker as lineage sees them: their condition, their topics and the datasets that they return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from headrace.api.config_def import Type
from headrace.api.datasets import Dataset, Fields
from headrace.api.errors import ConnectError
from headrace.config.sink_connector_config import TOPICS
from headrace.config.worker_config import BOOTSTRAP_SERVERS
from headrace.herder.herder import Herder
from headrace.lineage.lineage_runs import Condition, SeenConnector
from headrace.model.cluster_config_state import Config
from headrace.model.info import ConnectorState, ConnectorStateInfo, TaskState
from headrace.plugins.configured_plugins import configured_plugins
from headrace.plugins.secret_texts import mask_text, secrets_of
from headrace.worker.worker import Worker

_TIMEOUT: Final = 1.0
"""Seconds that a connector may take to return its datasets; one that takes longer is asked again later."""
_FAILED: Final = "FAILED"
_CONDITIONS: Final = {"RUNNING": Condition.UP, "PAUSED": Condition.UP, "STOPPED": Condition.DOWN}


class LineageView:
    """A reader of herder and worker, on lineage's own thread."""

    def __init__(self, herder: Herder, worker: Worker, bootstrap_servers: str) -> None:
        self._herder = herder
        self._worker = worker
        self._servers = bootstrap_servers
        self._passwords: dict[str, frozenset[str]] = {}
        """The properties of type PASSWORD by a plugin's class."""

    def connectors(self) -> dict[str, SeenConnector]:
        """Return the connectors on this worker."""
        found = ((name, self._seen(name)) for name in self._worker.connector_names())
        return {name: seen for name, seen in found if seen is not None}

    def topics_of_other_workers(self) -> Iterator[Dataset]:
        """Return the topics with a schema of tasks here whose connector is on another worker."""
        here = self._worker.connector_names()
        for id, schemas in self._worker.record_schemas().items():
            if id.connector not in here:
                config = self._config(id.connector)
                for topic, fields in schemas.items():
                    yield Dataset(self._cluster(config), topic, fields)

    def _seen(self, name: str) -> SeenConnector | None:
        try:
            info, status = self._herder.connector_info(name), self._herder.connector_status(name)
        except ConnectError:  # it has just been created or deleted, or the worker starts
            return None
        topics = self._topics(name, info.config)
        schemas = self._schemas(name)
        in_kafka = tuple(Dataset(self._cluster(info.config), topic, schemas.get(topic, ())) for topic in topics)
        try:
            outside = self._worker.connector_datasets(name, topics).result(_TIMEOUT)
        except (ConnectError, TimeoutError):
            outside = ()
        inputs, outputs = (outside, in_kafka) if info.type == "source" else (in_kafka, outside)
        condition, error = _condition(status)
        if error:  # it leaves the cluster
            error = mask_text(error, secrets_of(info.config, self._passwords_of(info.config)))
        return SeenConnector(self._worker.connector_starts(name), condition, inputs, outputs, error)

    def _passwords_of(self, config: Config) -> frozenset[str]:
        """Return the properties of type PASSWORD; of a plugin that does not tell, names and shapes must do."""
        plugins = configured_plugins(config)
        return frozenset(f"{prefix}{key}" for plugin, prefix in plugins for key in self._passwords_in(plugin))

    def _passwords_in(self, plugin: str) -> frozenset[str]:
        if plugin not in self._passwords:
            try:
                keys = self._herder.connector_plugin_config(plugin).result(_TIMEOUT)
            except (ConnectError, TimeoutError):
                return frozenset()
            self._passwords[plugin] = frozenset(key.name for key in keys if key.type == Type.PASSWORD.value)
        return self._passwords[plugin]

    def _topics(self, name: str, config: Config) -> tuple[str, ...]:
        """Return those that were used so far, and those that a sink is to read."""
        named = {topic.strip() for topic in (config.get(TOPICS) or "").split(",")}
        with suppress(ConnectError):  # topics need not be tracked
            named.update(self._herder.active_topics(name))
        return tuple(sorted(named - {""}))

    def _schemas(self, name: str) -> Mapping[str, Fields]:
        schemas: dict[str, Fields] = {}
        for id, own in self._worker.record_schemas().items():
            if id.connector == name:
                schemas.update(own)
        return schemas

    def _config(self, name: str) -> Config:
        try:
            return self._herder.connector_info(name).config
        except ConnectError:
            return {}

    def _cluster(self, config: Config) -> str:
        """Return the namespace of a connector's topics: the first of the brokers that its tasks' clients connect to."""
        overrides = (config.get(f"{client}.override.{BOOTSTRAP_SERVERS}") for client in ("producer", "consumer"))
        servers = next(filter(None, overrides), self._servers)
        return f"kafka://{servers.split(',')[0].strip().rpartition('//')[2]}"


def _condition(status: ConnectorStateInfo) -> tuple[Condition, str]:
    states: tuple[ConnectorState | TaskState, ...] = (status.connector, *status.tasks)
    for each in states:
        if each.state == _FAILED:
            return Condition.FAILED, each.trace or _FAILED
    return _CONDITIONS.get(status.connector.state, Condition.UNCLEAR), ""
