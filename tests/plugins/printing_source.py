# SPDX-License-Identifier: Apache-2.0
"""A source whose task prints without an end, on both streams; or, with `die.once`, a few lines before it is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.api import ConfigDef, SourceConnector, SourceTask

LINE = "printed by a task " * 50 + "\n"


class PrintingSource(SourceConnector):
    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None: ...

    def task_class(self) -> type[SourceTask]:
        return PrintingTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._props]

    def config(self) -> ConfigDef:
        return ConfigDef()


class PrintingTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None:
        self._once = Path(props["die.once"]) if "die.once" in props else None

    def poll(self) -> None:
        if self._once is None:
            print(LINE * 10, flush=True)
            os.write(2, LINE.encode() * 10)
        elif self._once.exists():
            self._once.unlink()
            print("one", "line")
            ctypes.CDLL(None).dprintf(2, b"by native code\n")
            subprocess.run(["echo", "by a child"], check=True)
            print("\nwithout an end", end="")
            os.kill(os.getpid(), signal.SIGKILL)

    def stop(self) -> None: ...
