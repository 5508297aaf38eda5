# SPDX-License-Identifier: Apache-2.0
"""A source that hangs in one of its methods, ignores SIGTERM, and has a child process that ignores it too."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from headrace.api import ConfigDef, SourceConnector, SourceRecord, SourceTask

CHILD = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"


def hang(props: Mapping[str, str], where: str) -> None:
    if props["hang"] != where:
        return
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", CHILD, props["mark"]], start_new_session=True)
    while True:
        time.sleep(60)


class StubbornSource(SourceConnector):
    def start(self, props: Mapping[str, str]) -> None:
        self._props = props
        hang(props, "connector.start")

    def stop(self) -> None: ...

    def task_class(self) -> type[SourceTask]:
        return StubbornTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{name: self._props[name] for name in ("hang", "mark")}]

    def config(self) -> ConfigDef:
        return ConfigDef()


class StubbornTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None:
        self._props = props
        self._polls = 0
        hang(props, "task.start")

    def poll(self) -> list[SourceRecord]:
        self._polls += 1
        if self._polls == 1:
            return [SourceRecord({"p": 1}, {"n": 1}, "stubborn", value="the only one")]
        hang(self._props, "poll")
        raise RuntimeError("the source is broken")

    def stop(self) -> None: ...
