# SPDX-License-Identifier: Apache-2.0
"""A source without any records, whose poll waits for as long as nobody wakes it up or stops it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from headrace.api import ConfigDef, SourceConnector, SourceTask


class WaitingSourceConnector(SourceConnector):
    """One task."""

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        pass

    def task_class(self) -> type[SourceTask]:
        return WaitingSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{}]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()


class WaitingSourceTask(SourceTask):
    def __init__(self) -> None:
        self._woken = threading.Event()

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        pass

    def poll(self) -> None:
        self._woken.wait()
        self._woken.clear()

    def wakeup(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        self._woken.set()
