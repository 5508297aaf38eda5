# SPDX-License-Identifier: Apache-2.0
"""The calls that both loops make of a source task: ``poll``, and after a commit ``commit_record`` and ``commit``.

Java: ``AbstractWorkerSourceTask``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConnectError, RetriableError
from headrace.api.record import SourceRecord
from headrace.api.source import SourceTask, WrittenRecords
from headrace.model.backoff import ExponentialBackoff
from headrace.model.health import Stage
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.record_converter import Polled
from headrace.task.source.source_batch import SourceOffset
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_protocol import OffsetsCommitted, Paused, Running, TopicsUsed
from headrace.task.worker_link import TaskControl, WorkerLink

if TYPE_CHECKING:
    import pyarrow as pa

_PAUSED_INTERVAL: Final = 1.0
_BACKOFF: Final = ExponentialBackoff(0.1, 10.0)


class Poller:
    """Polls a source task, pauses it, and backs off on RetriableError. Task's thread only."""

    def __init__(
        self,
        task: SourceTask,
        control: TaskControl,
        link: WorkerLink,
        metrics: TaskMetrics | None = None,
        reports: ErrorReports | None = None,
    ) -> None:
        """``metrics`` are reported about once a second also while the task is paused."""
        self._task = task
        self._metrics = metrics or TaskMetrics(lambda values: None, time.monotonic)
        self._control = control
        self._link = link
        self._reports = reports or ErrorReports(link.send)
        self._failures = 0

    def may_poll(self, before_pause: Callable[[], None]) -> bool:
        """Return False once the task is to stop. Blocks while it is paused, after a call of ``before_pause``."""
        if self._control.paused and not self._control.stopping:
            before_pause()
            self._control.progress.enter(Stage.PAUSED)
            self._link.send(Paused())
            while not self._control.wait_while_paused(_PAUSED_INTERVAL):
                self._metrics.report_if_due()
            if not self._control.stopping:
                self._link.send(Running())
        return not self._control.stopping

    def poll(self) -> Polled:
        """Return the task's next batch: empty if it has none now, or after the wait that follows a RetriableError."""
        try:
            polled = self._task.poll()
        except RetriableError as error:
            self._failures += 1
            self._metrics.steps.connector.retries += 1
            pause = _BACKOFF.after(self._failures)
            line = f"poll failed and is tried again in {pause:.1f} s: {error_text(error)}"
            self._reports.retried("poll", Stage.POLLING, error, line, delay=pause)
            self._control.wait_for_stop(pause)
            return ()
        except Exception:
            self._metrics.steps.connector.errors += 1
            raise
        self._control.progress.polled()
        if self._failures:
            self._failures = 0
            self._reports.succeeded("poll")
        if polled is None:
            return ()
        if isinstance(polled, Sequence) and not isinstance(polled, (str, bytes)):
            return polled
        return _checked_table(polled)


class CommitNotifier:
    """Notifies the task, then its worker, of records and offsets that are committed. Task's thread only."""

    def __init__(self, task: SourceTask, link: WorkerLink, reports: ErrorReports | None = None) -> None:
        self._task = task
        self._link = link
        self._reports = reports or ErrorReports(link.send)
        self._topics: dict[str, None] = {}
        """Topics written to since the last commit, in order."""
        self.wants_records = getattr(task.commit_record, "__func__", None) is not SourceTask.commit_record
        """False unless the task overrides ``commit_record``, in its class or, as Java's, in the instance.

        Then no record has to be remembered for it.
        """

    def add_topics(self, topics: Iterable[str]) -> None:
        """Note topics that are written to; the worker is notified of them after the next commit (KIP-558)."""
        self._topics.update((topic, None) for topic in topics)

    def records_committed(self, written: Iterable[WrittenRecords], dropped: Iterable[SourceRecord]) -> None:
        """Call ``commit_records``, and ``commit_record`` for what was dropped. An error is the task's failure."""
        if self.wants_records:
            for records in written:
                self._task.commit_records(records)
            for record in dropped:
                self._task.commit_record(record, None)

    def offsets_committed(self, offsets: Sequence[SourceOffset]) -> None:
        """Call the task's ``commit``, then notify the worker of topics and offsets."""
        self._reports.written()
        self._call_commit()
        if self._topics:
            self._link.send(TopicsUsed(list(self._topics)))
            self._topics.clear()
        self._link.send(OffsetsCommitted([(each.partition, each.offset) for each in offsets]))

    def _call_commit(self) -> None:
        try:
            self._task.commit()
        except Exception as error:
            # Not a failure of the task: its offsets are committed.
            line = f"commit of the task failed after its offsets were committed: {error_line(error)}"
            self._reports.retried("commit of the task", Stage.COMMITTING, error, line)
        else:
            self._reports.succeeded("commit of the task")


def size_of(polled: Polled) -> int:
    """Return the number of records in a batch."""
    return len(polled) if isinstance(polled, Sequence) else int(polled.num_rows)


def record_poll(metrics: TaskMetrics, size: int, seconds: float) -> None:
    """Count a poll that returned ``size`` records after ``seconds``; one without records does not count."""
    if size:
        metrics.add("source-record-poll-total", size)
        metrics.steps.connector.passed(0, size)
        metrics.sample("batch-size", size)
        metrics.sample("poll-batch", seconds * 1000, "-time-ms")


def _checked_table(polled: object) -> pa.Table:
    import pyarrow as pa

    if not isinstance(polled, pa.Table):
        raise ConnectError(
            f"poll returned {type(polled).__name__}; it may return a list of records, an Arrow table or None"
        )
    return polled
