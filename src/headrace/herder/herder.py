# SPDX-License-Identifier: Apache-2.0
"""The herder's interface for REST, distributed or standalone. Java: ``org.apache.kafka.connect.runtime.Herder``."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.metrics import WorkerFigures
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStateInfo,
    PluginInfo,
    ServerInfo,
    SparkAttempt,
    TaskInfo,
    TaskState,
)
from headrace.model.offsets import OffsetsChange, OffsetsChanged
from headrace.model.state import TargetState


@dataclass(frozen=True, slots=True)
class PutResult:
    """The connector as it is now configured; ``created`` if the request created it."""

    created: bool
    info: ConnectorInfo


class Herder(Protocol):
    """Queries answer from the last snapshot, from any thread, without blocking; they raise ``NotFoundError``.

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

    def connector_info(self, name: str) -> ConnectorInfo: ...

    def connector_status(self, name: str) -> ConnectorStateInfo: ...

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

    def change_offsets(self, name: str, change: OffsetsChange) -> Future[OffsetsChanged]:
        """Alter or reset a connector's offsets; the future raises BadRequestError if it is not STOPPED (KIP-875)."""
