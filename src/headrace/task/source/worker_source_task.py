# SPDX-License-Identifier: Apache-2.0
"""The at-least-once loop: records flow, and offsets follow every ``offset.flush.interval.ms`` once delivered.

Java: ``WorkerSourceTask``. The whole loop, delivery callbacks included, runs on the task's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from headrace.api.record import SourceRecord
from headrace.task.errors.retry_with_tolerance import StoppedWhileRetryingError
from headrace.task.record_converter import Polled
from headrace.task.source.committed_offsets import CommittedOffsets
from headrace.task.source.offset_committer import Delivered
from headrace.task.source.poller import Poller, note_poll, size_of
from headrace.task.source.source_batch import Batches, SourceBatch
from headrace.task.source.source_offsets import SourceOffset
from headrace.task.task_metrics import TaskMetrics


class Commits(Protocol):
    """What the loop needs of ``OffsetCommitter``, which tells what each call means."""

    def send(self, batch: SourceBatch) -> None: ...

    def serve(self) -> None: ...

    def due(self, now: float) -> bool: ...

    def commit(self) -> bool: ...

    def flush(self) -> None: ...

    def take_committed(self) -> Sequence[SourceOffset]: ...

    def take_delivered(self) -> tuple[Delivered, list[SourceRecord]]: ...


class WorkerSourceTask:
    """One attempt's loop; ``run`` returns when the task is asked to stop and its last offsets are committed."""

    def __init__(
        self,
        poller: Poller,
        batches: Batches,
        committer: Commits,
        committed: CommittedOffsets,
        metrics: TaskMetrics,
        clock: Callable[[], float],
    ) -> None:
        self._poller = poller
        self._batches = batches
        self._committer = committer
        self._committed = committed
        self._metrics = metrics
        self._clock = clock

    def run(self) -> None:
        # A record that is still tried again when the task is to stop is not sent, nor is its offset.
        with suppress(StoppedWhileRetryingError):
            while self._poller.may_poll(before_pause=self._commit_rest):
                self._iterate()
        self._commit_rest()

    def _iterate(self) -> None:
        began = self._clock()
        polled = self._poller.poll()
        note_poll(self._metrics, size_of(polled), self._clock() - began)
        if size_of(polled):
            self._send(polled)
        self._committer.serve()
        if self._committer.due(self._clock()):
            self._commit()
        self._committed.records(*self._committer.take_delivered())
        self._metrics.report_if_due()

    def _send(self, polled: Polled) -> None:
        batch = self._batches.make(polled)
        self._committed.topics(batch.topics)
        self._committer.send(batch)
        self._metrics.add("source-record-write-total", batch.written)

    def _commit_rest(self) -> None:
        self._committer.flush()
        self._commit()

    def _commit(self) -> None:
        began = self._clock()
        done = self._committer.commit()
        self._committed.records(*self._committer.take_delivered())
        if done:
            self._metrics.sample("offset-commit", (self._clock() - began) * 1000, "-time-ms")
            self._committed.offsets(self._committer.take_committed())
