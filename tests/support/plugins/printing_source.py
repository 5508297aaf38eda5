# SPDX-License-Identifier: Apache-2.0
"""A source whose task prints without an end, on both streams."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from headrace.api import ConfigDef, SourceConnector, SourceTask

LINE = "printed by a task " * 50 + "\n"


class PrintingSource(SourceConnector):
    def start(self, props: Mapping[str, str]) -> None: ...

    def stop(self) -> None: ...

    def task_class(self) -> type[SourceTask]:
        return PrintingTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{}]

    def config(self) -> ConfigDef:
        return ConfigDef()


class PrintingTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None: ...

    def poll(self) -> None:
        print(LINE * 10, flush=True)
        os.write(2, LINE.encode() * 10)

    def stop(self) -> None: ...
