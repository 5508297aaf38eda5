# SPDX-License-Identifier: Apache-2.0
"""What REST asks of a herder, whether distributed or standalone. Java: ``org.apache.kafka.connect.runtime.Herder``."""

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
    """The connector as it is now configured, and whether the request created it."""

    created: bool
    info: ConnectorInfo


class Herder(Protocol):
    """Queries answer from the last snapshot, from any thread, without blocking; they raise ``NotFoundError``.

    Requests return a future that ends when the cluster's topics hold the change; it raises the errors of
    ``headrace.herder.errors``. A caller that gives up asks ``stage`` what the herder is waiting for.
    """

    def start(self) -> None:
        """Returns at once; the herder joins its group in the background."""

    def stop(self, timeout: float) -> None:
        """Stops connectors and tasks, leaves the group; at most ``timeout`` seconds."""

    def failure(self) -> BaseException | None:
        """Why the herder has died, if it has."""

    def stage(self) -> str:
        """What it is doing now, for messages: "waiting for task_configs of connector x since 12 s"."""

    def has_started(self) -> bool:
        """Whether it has once been ready for requests; a worker that has not is starting (KIP-1017)."""

    def health_check(self) -> Future[None]:
        """Ends as soon as the herder can serve requests, which is at once unless something blocks it (KIP-1017)."""

    def figures(self) -> WorkerFigures:
        """Of what is on this worker, for metrics."""

    def put_logger_level(self, logger: str, level: str) -> Future[None]:
        """Sets a logger's level, and that of all below it, on every worker (KIP-976). ``level`` is known to be one."""

    def server_info(self) -> ServerInfo: ...

    def connectors(self) -> tuple[str, ...]: ...

    def connector_info(self, name: str) -> ConnectorInfo: ...

    def connector_status(self, name: str) -> ConnectorStateInfo: ...

    def task_infos(self, name: str) -> tuple[TaskInfo, ...]: ...

    def task_status(self, id: ConnectorTaskId) -> TaskState: ...

    def spark_attempts(self, name: str) -> Future[Mapping[int, SparkAttempt]]:
        """What Spark runs of the connector's tasks on this worker, by their numbers; none of tasks elsewhere."""

    def active_topics(self, name: str) -> tuple[str, ...]:
        """The topics that the connector was seen to use (KIP-558); none if there is no such connector.

        ForbiddenError if the worker does not keep track of them.
        """

    def reset_active_topics(self, name: str) -> None:
        """Forgets them, in the background. ForbiddenError if the worker is not to."""

    def connector_plugins(self, connectors_only: bool = True) -> tuple[PluginInfo, ...]:
        """What a connector's configuration may name: connectors alone, or all that is known."""

    def connector_plugin_config(self, plugin: str) -> Future[tuple[ConfigKeyInfo, ...]]: ...

    def validate_connector_config(self, plugin: str, config: Mapping[str, str | None]) -> Future[ConfigInfos]:
        """``plugin`` is the connector class that the request names, which ``config`` has to name too."""

    def put_connector_config(
        self,
        name: str,
        config: Mapping[str, str | None],
        *,
        target_state: TargetState | None,
        allow_replace: bool,
    ) -> Future[PutResult]: ...

    def patch_connector_config(self, name: str, patch: Mapping[str, str | None]) -> Future[PutResult]:
        """Puts the connector's configuration with the properties of ``patch``; those that are None are left out."""

    def delete_connector(self, name: str, *, with_offsets: bool = False) -> Future[None]:
        """``with_offsets``: its committed offsets go too; a connector of that name starts only when they are gone."""

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        """STOPPED ends the connector's tasks, and holds until another state is asked for (KIP-875)."""

    def restart_connector(self, name: str, *, only_failed: bool, include_tasks: bool) -> Future[ConnectorStateInfo]:
        """Ends with the status as it is to be while what is restarted starts again (KIP-745)."""

    def restart_task(self, id: ConnectorTaskId) -> Future[None]: ...

    def connector_offsets(self, name: str) -> Future[tuple[ConnectorOffset, ...]]: ...

    def change_offsets(self, name: str, change: OffsetsChange) -> Future[OffsetsChanged]:
        """Alters or resets the offsets of a connector that is STOPPED; BadRequestError if it is not (KIP-875)."""
