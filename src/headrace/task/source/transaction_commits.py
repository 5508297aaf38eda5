# SPDX-License-Identifier: Apache-2.0
"""The commits of a source task's transactions, and the notifications that follow them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.api.source import WrittenRecords
from headrace.logs.context import in_same_context
from headrace.model.health import Stage
from headrace.task.source.source_batch import SourceBatch, SourceOffset
from headrace.task.source.source_task_calls import CommitNotifier
from headrace.task.source.transactional_writer import TransactionWriter
from headrace.task.task_metrics import TaskMetrics

Committed = tuple[Sequence[SourceOffset], Sequence[WrittenRecords]]
_SHORT_POLL_S: Final = 0.1
"""Seconds of a poll after which the next one is taken to be as short."""


@dataclass(frozen=True, slots=True)
class _Running:
    """A commit that was begun, and what the task is to be notified of besides; ``end`` waits for it."""

    size: int
    began: float
    topics: Sequence[str]
    dropped: Sequence[SourceRecord]
    end: Callable[[], Committed]


class TransactionCommits:
    """Commits transactions and notifies the task of them, in their order. Task's thread only.

    A commit mostly waits for brokers. With ``beside_polls`` it runs on a thread of its own while the task polls again
    and its records are converted, provided that the last poll was short: a poll that waits for data would delay the
    notification. The writer belongs to that thread until ``await_end``; nothing is written or committed meanwhile, so
    that the order of all that is written is the same as without (invariants 1 and 5).
    """

    def __init__(
        self,
        writer: TransactionWriter,
        notifier: CommitNotifier,
        metrics: TaskMetrics,
        clock: Callable[[], float],
        *,
        beside_polls: bool,
    ) -> None:
        self._writer = writer
        self._notifier = notifier
        self._metrics = metrics
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "transaction-commit") if beside_polls else None
        self._topics: dict[str, None] = {}
        self._dropped: list[SourceRecord] = []
        self._something_to_notify = False
        self._running: _Running | None = None
        self._ended: tuple[_Running, Committed] | None = None
        """A commit of which the task is not notified yet."""

    @property
    def running(self) -> bool:
        """True while a commit may run on its thread, which the writer belongs to."""
        return self._running is not None

    def add(self, batch: SourceBatch) -> None:
        """Note what the task is to be notified of after the next commit."""
        self._topics.update((each.topic, None) for each in batch.topic_batches)
        self._dropped.extend(batch.dropped)
        self._something_to_notify = True

    def commit(self, last_poll: float) -> None:
        """Commit the open transaction. The last poll took so many seconds.

        When this returns, the task is notified, or the commit runs until ``await_end``.
        """
        size, began, topics, dropped = self._writer.size, self._clock(), tuple(self._topics), tuple(self._dropped)
        self._topics, self._dropped, self._something_to_notify = {}, [], False
        beside = self._thread is not None and last_poll < _SHORT_POLL_S
        end = self._begin() if beside else self._commit
        self._running = _Running(size, began, topics, dropped, end)
        # Of the commit before this one, while this one runs if it is beside.
        self._notify()
        if not beside:
            self.finish()

    def await_end(self) -> None:
        """Wait for the commit that runs, if one does, before the writer is used. Raise its error."""
        running, self._running = self._running, None
        if running is None:
            return
        self._metrics.progress.enter(Stage.COMMITTING)
        try:
            committed = running.end()
        except ConnectError:
            self._metrics.outcome("offset-commit", False)
            self._metrics.add("offset-commit-failure-total", 1)
            raise
        self._metrics.outcome("offset-commit", True)
        self._metrics.add("transactions-committed-total", 1)
        self._metrics.sample("transaction-size", running.size)
        self._metrics.sample("offset-commit", (self._clock() - running.began) * 1000, "-time-ms")
        self._metrics.level("source-record-active-count", self._writer.size)
        self._ended = running, committed

    def finish(self) -> None:
        """Wait as ``await_end`` does, and notify the task."""
        try:
            self.await_end()
        finally:
            self._notify()

    def notify_without_commit(self) -> None:
        """Notify the task where there was nothing to make visible (KAFKA-14799).

        That is where all records since the last commit were dropped, and none had an offset.
        """
        if self._something_to_notify:
            dropped, self._dropped, self._something_to_notify = self._dropped, [], False
            self._notifier.records_committed((), dropped)
            self._notifier.offsets_committed(())

    def close(self) -> None:
        """End the thread, which runs no commit any more."""
        if self._thread is not None:
            self._thread.shutdown(wait=False)

    def _begin(self) -> Callable[[], Committed]:
        assert self._thread is not None
        return self._thread.submit(in_same_context(self._commit)).result

    def _commit(self) -> Committed:
        """Commit, on either thread."""
        committed = self._writer.commit()
        self._metrics.progress.committed()
        self._metrics.progress.transaction_closed()
        return committed

    def _notify(self) -> None:
        if self._ended is not None:
            (commit, (offsets, written)), self._ended = self._ended, None
            self._notifier.add_topics(commit.topics)
            self._notifier.records_committed(written, commit.dropped)
            self._notifier.offsets_committed(offsets)
