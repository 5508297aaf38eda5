# SPDX-License-Identifier: Apache-2.0
"""The lag of a source, as its task returns it."""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Callable
from typing import Final

from headrace.api.error_text import clean_text, error_line
from headrace.api.lag import Lag
from headrace.api.source import SourceTask
from headrace.model.ids import ConnectorTaskId
from headrace.task.task_progress import TaskProgress

log = logging.getLogger(__name__)
_INTERVAL: Final = 3.0
_MOST: Final = 1_000
"""Partitions that a task's reports can have."""


class SourceLag:
    """Asks a task for its lag every few seconds, and notes it in the task's progress. Task's thread only."""

    def __init__(
        self,
        id: ConnectorTaskId,
        task: SourceTask,
        progress: TaskProgress,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._id = id
        self._task = task
        self._progress = progress
        self._clock = clock
        self._next = clock()
        self._failed = False
        self.is_known = type(task).lag is not SourceTask.lag
        """False unless the task overrides ``lag``: then it need not be asked."""

    def refresh(self) -> None:
        """Ask the task if it is time. An error is logged once."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        self._progress.lagged(self._lag())

    def _lag(self) -> Lag | None:
        try:
            return _checked(self._task.lag())
        except Exception as error:
            if not self._failed:
                self._failed = True
                log.warning("The lag of task %s is not known: %s", self._id, error_line(error))
            return None


def _checked(lag: object) -> Lag | None:
    """Return a lag with plain names and numbers; None if it is of no partition. ValueError for anything else."""
    if lag is None:
        return None
    if not isinstance(lag, Lag):
        raise ValueError(f"lag returned {type(lag).__name__}; it may return a Lag or None")
    if len(lag.partitions) > _MOST:
        raise ValueError(f"lag returned {len(lag.partitions)} partitions; {_MOST} are allowed")
    partitions = {clean_text(str(name)): operator.index(number) for name, number in lag.partitions.items()}
    if min(partitions.values(), default=0) < 0:
        raise ValueError(f"lag returned a number below 0: {min(partitions.values())}")
    return Lag(lag.unit, partitions) if partitions else None
