# SPDX-License-Identifier: Apache-2.0
"""A source whose number of tasks is what a file says, also when that changes while it runs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from numbered_source import NumberedSourceConnector


class GrowingSourceConnector(NumberedSourceConnector):
    """`tasks.file` holds the number; the connector asks for a reconfiguration when it is another."""

    def start(self, props: Mapping[str, str]) -> None:
        super().start(props)
        self._file = Path(props["tasks.file"])
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, args=(self._wanted(),), daemon=True).start()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return super().task_configs(min(max_tasks, self._wanted()))

    def stop(self) -> None:
        self._stopped.set()

    def _wanted(self) -> int:
        return int(self._file.read_text() or 1)

    def _watch(self, last: int) -> None:
        while not self._stopped.wait(0.1):
            if (now := self._wanted()) != last:
                last = now
                self.context.request_task_reconfiguration()
