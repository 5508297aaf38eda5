# SPDX-License-Identifier: Apache-2.0
"""The start of Python on executors before a task needs it: a first process takes two seconds, others a tenth."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from headrace.spark.engine.placement import Executor
from headrace.spark.errors.java_errors import text_of

log = logging.getLogger(__name__)
_CHECK_INTERVAL_S: Final = 1.0


class WarmUp:
    """A thread that runs an empty job on each executor that has not run anything."""

    def __init__(self, executors: Callable[[], Sequence[Executor]], run: Callable[[Executor], None]) -> None:
        """``run`` runs an empty job on an executor, to its end."""
        self._executors = executors
        self._run = run
        self._stopping = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._keep_warm, name="spark-warm-up", daemon=True).start()

    def stop(self) -> None:
        """End the thread; does not block."""
        self._stopping.set()

    def check_executors(self) -> None:
        """Run the job on unused executors; Spark may run it on another while one starts: it is unused next time."""
        for executor in self._executors():
            if not executor.used and not self._stopping.is_set():
                self._run(executor)

    def _keep_warm(self) -> None:
        while not self._stopping.wait(_CHECK_INTERVAL_S):
            try:
                self.check_executors()
            except Exception as error:  # Spark ends, or an executor did
                log.debug("warming up executors: %s", text_of(error))
