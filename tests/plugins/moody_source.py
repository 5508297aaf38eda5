# SPDX-License-Identifier: Apache-2.0
"""A source connector whose methods fail or hang while files of their names are there, and a sink for its config."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.api.config_def import ConfigDef
from headrace.api.connector import Task
from headrace.api.sink import SinkConnector, SinkTask
from headrace.connectors.testing.verifiable_source import VerifiableSourceConnector


class MoodySource(VerifiableSourceConnector):
    """``directory`` has the files; ``start`` and ``stop`` fail, ``task_configs`` and ``alter_offsets`` hang."""

    def start(self, props: Mapping[str, str]) -> None:
        super().start(props)
        self._fail("start")

    def stop(self) -> None:
        self._fail("stop")

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        self._hang(self._props, "task_configs")
        return super().task_configs(max_tasks)

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        self._hang(config, "alter_offsets")
        return super().alter_offsets(config, offsets)

    def _hang(self, config: Mapping[str, str], method: str) -> None:
        while (Path(config["directory"]) / method).exists():
            time.sleep(0.02)

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
