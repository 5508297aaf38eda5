# SPDX-License-Identifier: Apache-2.0
"""A connector whose task fails, and says with which password: as drivers of databases do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.api import ConfigDef, ConfigType, ConnectError, SourceConnector, SourceRecord, SourceTask, Task


class CanaryTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None:
        raise ConnectError(f"Cannot log in at {props['connection.url']} as anna with {props['entrance']}")

    def poll(self) -> Sequence[SourceRecord] | None:
        return None

    def stop(self) -> None: ...


class CanarySourceConnector(SourceConnector):
    def __init__(self) -> None:
        self._props: Mapping[str, str] = {}

    def start(self, props: Mapping[str, str]) -> None:
        self._props = props

    def stop(self) -> None: ...

    def task_class(self) -> type[Task]:
        return CanaryTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._props]

    def config(self) -> ConfigDef:
        definition = ConfigDef().define("connection.url", ConfigType.STRING, "", doc="Where to.")
        return definition.define("entrance", ConfigType.PASSWORD, "", doc="A password that is not called one.")
