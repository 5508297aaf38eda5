# SPDX-License-Identifier: Apache-2.0
"""What REST asks of a herder, whether distributed or standalone. Java: ``org.apache.kafka.connect.runtime.Herder``."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.model.info import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStateInfo,
    PluginInfo,
    ServerInfo,
    TaskInfo,
)
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

    def server_info(self) -> ServerInfo: ...

    def connectors(self) -> tuple[str, ...]: ...

    def connector_info(self, name: str) -> ConnectorInfo: ...

    def connector_status(self, name: str) -> ConnectorStateInfo: ...

    def task_infos(self, name: str) -> tuple[TaskInfo, ...]: ...

    def connector_plugins(self) -> tuple[PluginInfo, ...]: ...

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

    def delete_connector(self, name: str) -> Future[None]: ...

    def set_target_state(self, name: str, state: TargetState) -> Future[None]: ...

    def connector_offsets(self, name: str) -> Future[tuple[ConnectorOffset, ...]]: ...
