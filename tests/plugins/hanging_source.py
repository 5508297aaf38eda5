# SPDX-License-Identifier: Apache-2.0
"""A source whose tasks hang in their own code, each in a way of its own, with or without children."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from headrace.api import ConfigDef, SourceConnector, SourceTask

CHILD = "import signal, time; signal.signal(signal.SIGHUP, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"


class HangingSource(SourceConnector):
    def start(self, props: Mapping[str, str]) -> None:
        self._props = props

    def stop(self) -> None: ...

    def task_class(self) -> type[SourceTask]:
        return HangingTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{"how": how} for how in self._props["hows"].split(",")]

    def config(self) -> ConfigDef:
        return ConfigDef()


class HangingTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None:
        self._how = props["how"]

    def poll(self) -> None:
        time.sleep(1)
        if self._how == "interpreter":  # no other thread of the process runs from now on
            re.match("(x+x+)+y", "x" * 60)
        elif self._how == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif self._how == "children":
            up = subprocess.Popen([sys.executable, "-c", CHILD], start_new_session=True, stdout=subprocess.PIPE)
            assert up.stdout is not None and up.stdout.readline()
        time.sleep(600)

    def stop(self) -> None: ...
