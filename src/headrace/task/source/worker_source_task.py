# SPDX-License-Identifier: Apache-2.0
"""The at-least-once loop: offsets follow their records every ``offset.flush.interval.ms``, once these are delivered.

Java: ``WorkerSourceTask``. The whole loop, delivery callbacks included, runs on the task's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from headrace.model.health import Stage
from headrace.task.errors.retry_with_tolerance import StoppedWhileRetryingError
from headrace.task.record_converter import Polled
from headrace.task.source.offset_committer import OffsetCommitter
from headrace.task.source.source_batch import Batches
from headrace.task.source.source_task_calls import CommitNotifier, Poller, record_poll, size_of
from headrace.task.task_metrics import TaskMetrics


class WorkerSourceTask:
    """One attempt's loop."""

    def __init__(
        self,
        poller: Poller,
        batches: Batches,
        committer: OffsetCommitter,
        notifier: CommitNotifier,
        metrics: TaskMetrics,
        clock: Callable[[], float],
    ) -> None:
        self._poller = poller
        self._batches = batches
        self._committer = committer
        self._notifier = notifier
        self._metrics = metrics
        self._progress = metrics.progress
        self._clock = clock

    def execute(self) -> None:
        """Run until the task is asked to stop and its last offsets are committed."""
        # A record that is still retried when the task is to stop is not sent, nor is its offset.
        with suppress(StoppedWhileRetryingError):
            while self._poller.may_poll(before_pause=self._flush_and_commit):
                self._iterate()
        self._flush_and_commit()

    def _iterate(self) -> None:
        began = self._clock()
        self._progress.enter(Stage.POLLING)
        polled = self._poller.poll()
        record_poll(self._metrics, size_of(polled), self._clock() - began)
        if size_of(polled):
            self._send(polled)
        self._committer.serve()
        self._metrics.level("source-record-active-count", self._committer.in_flight)
        if self._committer.due(self._clock()):
            self._commit()
        self._notifier.records_committed(*self._committer.take_delivered())
        self._metrics.report_if_due()

    def _send(self, polled: Polled) -> None:
        self._progress.enter(Stage.CONVERTING)
        batch = self._batches.convert(polled)
        self._progress.enter(Stage.PRODUCING)
        self._notifier.add_topics(each.topic for each in batch.topic_batches)
        self._committer.send(batch)
        self._progress.processed()
        self._metrics.add("source-record-write-total", batch.written)
        self._metrics.sample_size(batch.mean_size)
        self._metrics.level("source-record-active-count", self._committer.in_flight)

    def _flush_and_commit(self) -> None:
        self._progress.enter(Stage.PRODUCING)
        self._committer.flush()
        self._commit()

    def _commit(self) -> None:
        began = self._clock()
        self._progress.enter(Stage.COMMITTING)
        committed = self._committer.commit()
        if committed or self._committer.is_late:
            self._metrics.outcome("offset-commit", committed)
            self._metrics.add("offset-commit-failure-total", not committed)
        self._notifier.records_committed(*self._committer.take_delivered())
        if committed:
            self._progress.committed()
            self._metrics.sample("offset-commit", (self._clock() - began) * 1000, "-time-ms")
            self._notifier.offsets_committed(self._committer.take_committed())
