# SPDX-License-Identifier: Apache-2.0
"""The herder's interfaces for REST. Java: ``org.apache.kafka.connect.runtime.Herder``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.herder.worker_parts import Json
from headrace.metrics.figures import WorkerFigures
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStateInfo,
    OffsetBounds,
    OffsetsChange,
    OffsetsChanged,
    PluginInfo,
    ServerInfo,
    SparkAttempt,
    TaskInfo,
    TaskState,
    WorkersInfo,
)
from headrace.model.state import TargetState
from headrace.worker.tasks.task_basis import TaskBasis


@dataclass(frozen=True, slots=True)
class PutResult:
    """The connector as it is now configured; ``created`` if the request created it."""

    created: bool
    info: ConnectorInfo


class Herder(Protocol):
    """A worker's herder, distributed or standalone.

    Queries answer from the last snapshot, from any thread, without blocking; they raise ``NotFoundError``.

    Requests return a future that ends when the cluster's topics hold the change; it raises the errors of
    ``headrace.herder.errors``. A caller that gives up reads ``stage`` for the cause of the wait.
    """

    def start(self) -> None:
        """Start and return at once; the herder joins its group in the background."""

    def stop(self, timeout: float) -> None:
        """Stop connectors and tasks, leave the group; at most ``timeout`` seconds."""

    def failure(self) -> BaseException | None:
        """Return the error that ended the herder, if there is one."""

    def stage(self) -> str:
        """Return its present activity, for messages: "waiting for task_configs of connector x since 12 s"."""

    def has_started(self) -> bool:
        """Return true once it has been ready for requests; a worker that has not is starting (KIP-1017)."""

    def health_check(self) -> Future[None]:
        """End as soon as the herder can serve requests, which is at once unless something blocks it (KIP-1017)."""

    def figures(self) -> WorkerFigures:
        """Return the figures of this worker, for metrics."""

    def put_logger_level(self, logger: str, level: str) -> Future[None]:
        """Set a logger's level, and that of all below it, on every worker (KIP-976). ``level`` is a valid one."""

    def server_info(self) -> ServerInfo: ...

    def connectors(self) -> tuple[str, ...]: ...

    def revision(self) -> tuple[int, int]:
        """Return another value after each change of a configuration or status: the rest need not be compared."""

    def connector_info(self, name: str) -> ConnectorInfo: ...

    def connector_status(self, name: str) -> ConnectorStateInfo: ...

    def connector_health(self, names: Sequence[str]) -> Future[Mapping[str, Json]]:
        """Return the health of connectors and their tasks, wherever these run; those that are gone are left out."""

    def connector_history(self, name: str | None) -> Future[Json]:
        """Return the throughput and lag of a connector over the last hour, or of all, wherever they ran."""

    def workers(self) -> Future[WorkersInfo]:
        """Return all workers of the cluster, also those that run nothing; those that do not answer, with the reason."""

    def task_infos(self, name: str) -> tuple[TaskInfo, ...]: ...

    def task_status(self, id: ConnectorTaskId) -> TaskState: ...

    def spark_attempts(self, name: str) -> Future[Mapping[int, SparkAttempt]]:
        """Return the Spark attempts of the connector's tasks on this worker alone, by their numbers."""

    def active_topics(self, name: str) -> tuple[str, ...]:
        """Return the topics that the connector uses (KIP-558); none if there is no such connector.

        Raise ForbiddenError if the worker does not track them.
        """

    def reset_active_topics(self, name: str) -> None:
        """Reset the topics in the background. Raise ForbiddenError if the worker does not permit it."""

    def connector_plugins(self, connectors_only: bool = True) -> tuple[PluginInfo, ...]:
        """Return the plugins that a connector's configuration may name: connectors alone, or all that are known."""

    def connector_plugin_config(self, plugin: str) -> Future[tuple[ConfigKeyInfo, ...]]: ...

    def validate_connector_config(self, plugin: str, config: Mapping[str, str | None]) -> Future[ConfigInfos]:
        """Validate ``config``, which has to name the same connector class as the request, ``plugin``."""

    def task_basis(self, config: Mapping[str, str | None], task: int) -> Future[TaskBasis]:
        """Return what a task of a connector with this configuration would be launched with, for a preview.

        It has secrets in plain text: never for an answer.
        """

    def put_connector_config(
        self,
        name: str,
        config: Mapping[str, str | None],
        *,
        target_state: TargetState | None,
        allow_replace: bool,
    ) -> Future[PutResult]: ...

    def patch_connector_config(self, name: str, patch: Mapping[str, str | None]) -> Future[PutResult]:
        """Put the connector's configuration with the properties of ``patch``; those that are None are left out."""

    def delete_connector(self, name: str, *, with_offsets: bool = False) -> Future[None]:
        """Remove a connector, ``with_offsets`` its committed offsets too.

        A connector of that name starts only when those are gone.
        """

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        """Change the target state; STOPPED ends the tasks, and holds until another state is requested (KIP-875)."""

    def restart_connector(self, name: str, *, only_failed: bool, include_tasks: bool) -> Future[ConnectorStateInfo]:
        """Restart; the future's result is the status with RESTARTING wherever something is restarted (KIP-745)."""

    def restart_task(self, id: ConnectorTaskId) -> Future[None]: ...

    def connector_offsets(self, name: str) -> Future[tuple[ConnectorOffset, ...]]: ...

    def offset_bounds(self, name: str) -> Future[OffsetBounds | None]:
        """Return the bounds of the offsets that a sink can have in Kafka; the future has None for a source."""

    def change_offsets(self, name: str, change: OffsetsChange) -> Future[OffsetsChanged]:
        """Alter or reset a connector's offsets; the future raises BadRequestError if it is not STOPPED (KIP-875)."""


class ClusterHerder(Protocol):
    """Other workers' requests through REST, beside those of users. Java: ``InternalClusterResource``.

    As ``Herder``: called from any thread, never blocks. A follower's futures raise ``NotLeaderError``.
    """

    def signed(self) -> bool:
        """Return true if such requests have to be signed: not in groups with a member that cannot (KIP-507)."""

    def session_key(self) -> SessionKey | None:
        """Return the key to sign requests with; None while it was not read, or none exists yet."""

    def worker_health(self, connector: str | None) -> Future[Json]:
        """Return this worker's part of the health: of one connector, or of all."""

    def worker_history(self, connector: str | None) -> Json:
        """Return this worker's part of the history: of one connector, or of all."""

    def worker_report(self) -> Json:
        """Return this worker's figures and, if it leads, the group's members. Blocks for a moment."""

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> Future[None]:
        """Write task configs of a connector on another worker; the future ends when the config topic has them."""

    def write_logger_level(self, logger: str, level: str) -> Future[None]:
        """Write a level for the whole cluster (KIP-976); the future ends when the config topic has it."""

    def fence_zombies(self, name: str) -> Future[None]:
        """Fence all former tasks of the source connector; the future ends when none can write any more (KIP-618)."""
