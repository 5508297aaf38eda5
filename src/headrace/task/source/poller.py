# SPDX-License-Identifier: Apache-2.0
"""Polls a source task: pauses, backs off on RetriableError, and tells records from Arrow tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.source import SourceTask
from headrace.task.record_converter import Polled
from headrace.task.task_metrics import TaskMetrics
from headrace.task.worker_link import TaskControl, WorkerLink

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)
_FIRST_BACKOFF = 0.1
_LONGEST_BACKOFF = 10.0


class Poller:
    """The task's thread only."""

    def __init__(self, task: SourceTask, control: TaskControl, link: WorkerLink) -> None:
        self._task = task
        self._control = control
        self._link = link
        self._backoff = _FIRST_BACKOFF

    def may_poll(self, before_pause: Callable[[], None]) -> bool:
        """Whether to go on; blocks while the task is paused, after ``before_pause`` has ended what is open."""
        if self._control.paused and not self._control.stopping:
            before_pause()
            self._link.paused()
            self._control.wait_while_paused()
            if not self._control.stopping:
                self._link.running()
        return not self._control.stopping

    def poll(self) -> Polled:
        """What the task has now; an empty batch if nothing, or if it asked to be tried again."""
        try:
            polled = self._task.poll()
        except RetriableError as error:
            _log.warning("poll failed and is tried again in %.1f s: %s", self._backoff, error)
            self._control.wait_for_stop(self._backoff)
            self._backoff = min(self._backoff * 2, _LONGEST_BACKOFF)
            return ()
        self._backoff = _FIRST_BACKOFF
        if polled is None:
            return ()
        if isinstance(polled, (list, tuple)):
            return polled
        return _checked_table(polled)


def is_table(polled: Polled) -> bool:
    return not isinstance(polled, Sequence)


def size_of(polled: Polled) -> int:
    """Records in a batch."""
    return len(polled) if isinstance(polled, Sequence) else int(polled.num_rows)


def note_poll(metrics: TaskMetrics, size: int, seconds: float) -> None:
    """Counts a poll of ``size`` records that took so long; those without any are none."""
    if size:
        metrics.add("source-record-poll-total", size)
        metrics.sample("batch-size", size)
        metrics.sample("poll-batch", seconds * 1000, "-time-ms")


def _checked_table(polled: object) -> pa.Table:
    import pyarrow as pa

    if not isinstance(polled, pa.Table):
        raise ConnectError(
            f"poll returned {type(polled).__name__}; it may return a list of records, an Arrow table or None"
        )
    return polled
