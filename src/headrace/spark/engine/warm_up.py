# SPDX-License-Identifier: Apache-2.0
"""Python is there before a task needs it: an executor's first process takes two seconds, all others a tenth."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from headrace.spark.engine.placement import Executor
from headrace.spark.errors.java_errors import text_of

_log = logging.getLogger(__name__)
_LOOK_S: Final = 1.0


class WarmUp:
    """Has a job that does nothing run on each executor that has not run anything. A thread of its own."""

    def __init__(self, executors: Callable[[], Sequence[Executor]], run: Callable[[Executor], None]) -> None:
        """``run`` runs such a job, to its end."""
        self._executors = executors
        self._run = run
        self._stopping = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._keep_warm, name="spark-warm-up", daemon=True).start()

    def stop(self) -> None:
        """Returns at once."""
        self._stopping.set()

    def look(self) -> None:
        """Spark may run the job elsewhere, as it does while the executor is about to start: it is seen again then."""
        for executor in self._executors():
            if not executor.used and not self._stopping.is_set():
                self._run(executor)

    def _keep_warm(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            try:
                self.look()
            except Exception as error:  # Spark ends, or an executor did
                _log.debug("warming up executors: %s", text_of(error))
