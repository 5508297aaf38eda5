# SPDX-License-Identifier: Apache-2.0
"""A source connector that fails to start or to stop while files of those names are there, and a sink for its config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.api.config_def import ConfigDef
from headrace.api.connector import Task
from headrace.api.sink import SinkConnector, SinkTask
from headrace.connectors.verifiable_source import VerifiableSourceConnector


class MoodySource(VerifiableSourceConnector):
    """``directory`` is where the files are."""

    def start(self, props: Mapping[str, str]) -> None:
        super().start(props)
        self._fail("start")

    def stop(self) -> None:
        self._fail("stop")

    def _fail(self, method: str) -> None:
        if (Path(self._props["directory"]) / method).exists():
            raise ValueError(f"no mood for {method}")


class PlainSink(SinkConnector):
    """One that is configured and never run."""

    def start(self, props: Mapping[str, str]) -> None: ...

    def task_class(self) -> type[Task]:
        return SinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{}]

    def stop(self) -> None: ...

    def config(self) -> ConfigDef:
        return ConfigDef()
