# SPDX-License-Identifier: Apache-2.0
"""Commits a sink task's offsets: at intervals, on request and on rebalances. Java: ``WorkerSinkTask``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from headrace.api.error_text import error_line
from headrace.api.errors import ConnectError
from headrace.api.sink import SinkTask, TopicPartition
from headrace.kafka.data.sink_consumer import Commit
from headrace.kafka.errors import RetriableKafkaError
from headrace.model.health import Stage
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.sink.sink_offset_commit import CommitPlan, Offsets, SinkOffsetCommit
from headrace.task.task_metrics import TaskMetrics

log = logging.getLogger(__name__)
_COMMIT: Final = "a commit of offsets"
_PRE_COMMIT: Final = "pre_commit"


class CommittingConsumer(Protocol):
    """The part used of ``SinkConsumer``, which documents each call."""

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None: ...

    def commit_async(self, offsets: Mapping[TopicPartition, int]) -> None: ...

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None: ...

    def take_commits(self) -> list[Commit]: ...


@dataclass(frozen=True, slots=True)
class CommitTiming:
    """``offset.flush.interval.ms`` and ``offset.flush.timeout.ms``, in seconds on ``clock``."""

    interval: float
    timeout: float
    clock: Callable[[], float]


class SinkCommitter:
    """Commits the offsets of one task, and keeps ``offsets`` up to date. Task's thread only."""

    def __init__(
        self,
        reports: ErrorReports,
        task: SinkTask,
        consumer: CommittingConsumer,
        offsets: SinkOffsetCommit,
        await_reports: Callable[[], None],
        metrics: TaskMetrics,
        timing: CommitTiming,
    ) -> None:
        """``await_reports`` blocks until all dead letters have arrived, or raises."""
        self._reports = reports
        self._task = task
        self._consumer = consumer
        self._offsets = offsets
        self._await_reports = await_reports
        self._metrics = metrics
        self._timing = timing
        self._started = 0.0
        self.next = timing.clock() + timing.interval
        """The time of the next commit, on the clock of ``timing``."""

    def commit_if_due(self, requested: bool) -> bool:
        """Begin a commit if it is time, or ``requested``, unless one is in flight; return True if it was begun."""
        now = self._timing.clock()
        self._complete_commits()
        if self._offsets.in_flight is not None and now >= self._started + self._timing.timeout:
            late = RetriableKafkaError(f"a commit of offsets was not answered in {self._timing.timeout:g} s")
            self._report_failure(_COMMIT, late, str(late))
            self._offsets.abandon_commit()
        if self._offsets.in_flight is not None or not (requested or now >= self.next):
            return False
        self.next = now + self._timing.interval
        self._commit()
        return True

    def close_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Commit these partitions and close them in the task: they are revoked, or the task ends. Blocks."""
        self._metrics.progress.enter(Stage.COMMITTING)
        try:
            self._await_reports()
            asked = self._offsets.to_commit(partitions)
            plan = CommitPlan({})
            try:
                plan = self._plan(asked)
            except Exception as error:
                line = f"offsets are not committed, as pre_commit failed: {error_line(error)}"
                self._report_failure(_PRE_COMMIT, error, line)
            finally:
                self._task.close(partitions)
            self._await_reports()
            self._commit_now(plan.offsets)
        finally:
            self._offsets.remove_partitions(partitions)

    def close_lost_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Close partitions that another member has already: there is nothing to commit."""
        try:
            self._task.close(partitions)
        finally:
            self._offsets.remove_partitions(partitions)

    def _commit(self) -> None:
        # The most records that are put and not committed are those before a commit.
        self._metrics.progress.enter(Stage.COMMITTING)
        self._metrics.level("sink-record-active-count", self._offsets.active)
        self._await_reports()
        asked = self._offsets.to_commit()
        try:
            plan = self._plan(asked)
        except Exception as error:
            line = f"pre_commit failed; records since the last commit are read again: {error_line(error)}"
            self._report_failure(_PRE_COMMIT, error, line)
            self._record_failure()
            self._consumer.seek(self._offsets.rewind_to_committed(asked))
            return
        # Invariant 9: what pre_commit has reported instead of writing it is not lost.
        self._await_reports()
        if plan.offsets:
            self._started = self._timing.clock()
            self._offsets.begin_commit(plan.offsets)
            self._metrics.add("offset-commit-seq-no", 1)
            if log.isEnabledFor(logging.DEBUG):
                log.debug("Committing the consumer offsets %s", {str(at): n for at, n in plan.offsets.items()})
            # Invariant 9: all of these records were put, and pre_commit has returned their offsets.
            self._consumer.commit_async(_numbers(plan.offsets))

    def _plan(self, asked: Offsets) -> CommitPlan:
        if not asked:
            return CommitPlan({})
        plan = self._offsets.plan(asked, self._task.pre_commit(dict(asked)) or {})
        self._reports.succeeded(_PRE_COMMIT)
        for ignored in plan.ignored:
            log.warning("pre_commit returned an %s; it is not committed", ignored)
        return plan

    def _commit_now(self, offsets: Offsets) -> None:
        if offsets:
            try:
                self._consumer.commit(_numbers(offsets))
                self._record_completion()
            except ConnectError as error:
                self._report_failure(_COMMIT, error, f"{error}; its records are read again")
                self._record_failure()

    def _complete_commits(self) -> None:
        for offsets, error in self._consumer.take_commits():
            if not self._offsets.complete_commit(offsets, error is not None):
                self._metrics.add("offset-commit-skip-total", 1)
                continue
            if error is not None:
                self._report_failure(_COMMIT, error, str(error))
                self._record_failure()
            else:
                self._record_completion()
                self._metrics.sample("offset-commit", (self._timing.clock() - self._started) * 1000, "-time-ms")

    def _report_failure(self, operation: str, error: Exception, line: str) -> None:
        self._reports.retried(operation, Stage.COMMITTING, error, line)

    def _record_completion(self) -> None:
        self._metrics.progress.committed()
        self._reports.succeeded(_COMMIT)
        self._metrics.add("offset-commit-completion-total", 1)
        self._metrics.outcome("offset-commit", True)

    def _record_failure(self) -> None:
        self._metrics.add("offset-commit-failure-total", 1)
        self._metrics.outcome("offset-commit", False)


def _numbers(offsets: Offsets) -> dict[TopicPartition, int]:
    return {where: each.offset for where, each in offsets.items()}
