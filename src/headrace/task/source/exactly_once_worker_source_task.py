# SPDX-License-Identifier: Apache-2.0
"""The exactly-once loop: poll → transform → convert → produce → offsets last → commit.

Java: ``ExactlyOnceWorkerSourceTask``. The loop runs on the task's thread; ``TransactionCommits`` may have a commit run
beside the next poll.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from headrace.kafka.errors import RetriableKafkaError
from headrace.model.health import Stage
from headrace.task.errors.retry_with_tolerance import StoppedWhileRetryingError
from headrace.task.source.source_batch import Batches, SourceBatch
from headrace.task.source.source_task_calls import Poller, record_poll, size_of
from headrace.task.source.transaction_boundary import Boundary, End, IntervalBoundary
from headrace.task.source.transaction_commits import TransactionCommits
from headrace.task.source.transactional_writer import TransactionWriter
from headrace.task.task_metrics import TaskMetrics


class ExactlyOnceWorkerSourceTask:
    """One attempt's loop."""

    def __init__(
        self,
        poller: Poller,
        batches: Batches,
        writer: TransactionWriter,
        boundary: Boundary,
        commits: TransactionCommits,
        metrics: TaskMetrics,
        clock: Callable[[], float],
    ) -> None:
        self._poller = poller
        self._batches = batches
        self._writer = writer
        self._boundary = boundary
        self._commits = commits
        self._metrics = metrics
        self._progress = metrics.progress
        self._progress.transaction_interval = boundary.interval if isinstance(boundary, IntervalBoundary) else None
        self._clock = clock
        self._last_poll = 0.0
        """Seconds."""

    def execute(self) -> None:
        """Run until the task is asked to stop; afterwards no transaction is committed or aborted any more."""
        try:
            # A record that is still retried when the task is to stop is not written, nor is its offset.
            with suppress(StoppedWhileRetryingError):
                while self._poller.may_poll(before_pause=self._before_pause):
                    self._iterate()
        finally:
            stage, running = self._progress.stage, self._commits.running
            self._commits.finish()
            if running:  # the next poll has failed, perhaps: that is the stage of its error
                self._progress.enter(stage)
        self._end_open_transaction()

    def _iterate(self) -> None:
        began = self._clock()
        self._progress.enter(Stage.POLLING)
        polled = self._poller.poll()
        self._last_poll = self._clock() - began
        record_poll(self._metrics, size_of(polled), self._last_poll)
        if size_of(polled):
            self._metrics.level("source-record-active-count", self._writer.size + size_of(polled))
        else:
            self._commits.finish()
        records = polled if isinstance(polled, Sequence) else None
        start = 0
        for step in self._boundary.plan(size_of(polled), records, self._clock()):
            if step.end > start:
                self._progress.enter(Stage.CONVERTING)
                self._write(self._batches.convert(polled[start : step.end] if records is not None else polled))
            start = step.end
            self._end(step.then)
        self._metrics.report_if_due()

    def _write(self, batch: SourceBatch) -> None:
        self._commits.await_end()
        self._progress.enter(Stage.PRODUCING)
        if batch.size:
            # Dead letters become visible together with their offsets, as all other records do (invariant 1).
            self._writer.write(batch.all_topic_batches, batch.size)
            self._progress.transaction_opened()
        self._progress.processed()
        self._writer.add_offsets(batch.offsets)
        self._commits.add(batch)
        self._metrics.add("source-record-write-total", batch.written)
        self._metrics.sample_size(batch.mean_size)

    def _before_pause(self) -> None:
        """End the open transaction. RetriableKafkaError if it is the task's own, which the task has not ended.

        It cannot stay open, as the broker would abort it in time. The task has its records behind it, so only a new
        attempt, which starts paused, can read them again.
        """
        self._end_open_transaction()
        if self._writer.pending:
            raise RetriableKafkaError("paused within a transaction that the task has not ended: it is read again")

    def _end_open_transaction(self) -> None:
        """End it as the boundary says; when this returns, no commit runs."""
        self._end(self._boundary.final())
        self._commits.finish()

    def _end(self, end: End) -> None:
        if end is End.NOTHING:
            return
        self._commits.await_end()
        rest = self._batches.take_rest()
        if rest is not None:
            self._write(rest)
        if end is End.ABORT:
            self._writer.abort()
            self._progress.transaction_closed()
            self._metrics.add("transactions-aborted-total", 1)
            self._metrics.level("source-record-active-count", self._writer.size)
        # Aborted records are not read again either: their offsets are committed without them (KIP-618).
        if self._writer.pending:
            self._commits.commit(self._last_poll)
        else:
            self._commits.notify_without_commit()
