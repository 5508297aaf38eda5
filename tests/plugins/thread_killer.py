# SPDX-License-Identifier: Apache-2.0
"""A connector that kills a thread of its worker: `thread` is how the thread's name ends, or begins."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping

from headrace.api import ConfigDef, SourceConnector, SourceTask


class Killed(BaseException):
    """What no thread catches."""


class ThreadKiller(SourceConnector):
    """Starts well, and has no task."""

    def start(self, props: Mapping[str, str]) -> None:
        name = props["thread"]
        victims = [each for each in threading.enumerate() if each.name.startswith(name) or each.name.endswith(name)]
        for victim in victims:
            kill = ctypes.pythonapi.PyThreadState_SetAsyncExc
            kill(ctypes.c_ulong(victim.ident or 0), ctypes.py_object(Killed))
        if not victims:
            raise ValueError(f"no thread {name}: {sorted(each.name for each in threading.enumerate())}")

    def stop(self) -> None: ...

    def task_class(self) -> type[SourceTask]:
        return SourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return []

    def config(self) -> ConfigDef:
        return ConfigDef()

    def version(self) -> str:
        return "1"
