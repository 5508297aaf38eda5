# SPDX-License-Identifier: Apache-2.0
"""The exactly-once loop: poll → transform → convert → produce → offsets last → commit.

Java: ``ExactlyOnceWorkerSourceTask``. The whole loop runs on the task's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from headrace.api.record import SourceRecord
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.errors.retry_with_tolerance import StoppedWhileRetryingError
from headrace.task.record_converter import Polled
from headrace.task.source.source_batch import Batches, SourceBatch, SourceOffset
from headrace.task.source.source_task_calls import CommitNotifier, Poller, record_poll, size_of
from headrace.task.source.transaction_boundary import Boundary, End
from headrace.task.source.transactional_writer import TransactionalWriter
from headrace.task.task_metrics import TaskMetrics
from headrace.task.topic_batch import WrittenRecord


class ExactlyOnceWorkerSourceTask:
    """One attempt's loop; ``run`` returns when the task is asked to stop, and no transaction will be ended any more."""

    def __init__(
        self,
        poller: Poller,
        batches: Batches,
        writer: TransactionalWriter,
        boundary: Boundary,
        notifier: CommitNotifier,
        metrics: TaskMetrics,
        clock: Callable[[], float],
    ) -> None:
        self._poller = poller
        self._batches = batches
        self._writer = writer
        self._boundary = boundary
        self._notifier = notifier
        self._metrics = metrics
        self._clock = clock
        self._dropped: list[SourceRecord] = []
        self._untold = False

    def run(self) -> None:
        # A record that is still tried again when the task is to stop is not written, nor is its offset.
        with suppress(StoppedWhileRetryingError):
            while self._poller.may_poll(before_pause=self._before_pause):
                self._iterate()
        self._end_last()

    def _iterate(self) -> None:
        began = self._clock()
        polled = self._poller.poll()
        record_poll(self._metrics, size_of(polled), self._clock() - began)
        records = polled if isinstance(polled, Sequence) else None
        start = 0
        for step in self._boundary.plan(size_of(polled), records, self._clock()):
            if step.end > start:
                self._write(polled[start : step.end] if records is not None else polled)
            start = step.end
            self._end(step.then)
        self._metrics.report_if_due()

    def _write(self, polled: Polled) -> None:
        self._add(self._batches.make(polled))

    def _add(self, batch: SourceBatch) -> None:
        if batch.size:
            # What is set aside is visible exactly when its offset is, as all else (invariant 1).
            self._writer.write(batch.all_topics, batch.size)
            self._notifier.add_topics(batch.topics)
        self._writer.add_offsets(batch.offsets)
        self._untold = True
        self._dropped.extend(batch.dropped)
        self._metrics.add("source-record-write-total", batch.written)

    def _before_pause(self) -> None:
        """A transaction of the task's own that it has not ended cannot stay open: the broker would abort it in time.

        The task has its records behind it, so only a new attempt, which starts paused, can read them again.
        """
        self._end_last()
        if self._writer.pending:
            raise RetriableKafkaError("paused within a transaction that the task has not ended: it is read again")

    def _end_last(self) -> None:
        self._end(self._boundary.final())

    def _end(self, end: End) -> None:
        if end is End.NOTHING:
            return
        rest = self._batches.rest()
        if rest is not None:
            self._add(rest)
        if end is End.ABORT:
            self._writer.abort()
            self._metrics.add("transactions-aborted-total", 1)
        # What is aborted is read no more either: its offsets are committed without its records (KIP-618).
        if self._writer.pending:
            self._commit()
        elif self._untold:
            # All was dropped, and no offset came with it: there is nothing to make visible (KAFKA-14799).
            self._tell((), ())

    def _commit(self) -> None:
        size, began = self._writer.size, self._clock()
        offsets, delivered = self._writer.commit()
        self._metrics.add("transactions-committed-total", 1)
        self._metrics.sample("transaction-size", size)
        self._metrics.sample("offset-commit", (self._clock() - began) * 1000, "-time-ms")
        self._tell(offsets, delivered)

    def _tell(self, offsets: Sequence[SourceOffset], delivered: Sequence[WrittenRecord]) -> None:
        dropped, self._dropped, self._untold = self._dropped, [], False
        self._notifier.records_committed(delivered, dropped)
        self._notifier.offsets_committed(offsets)
