# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.api.sink import OffsetAndMetadata, SinkTask, TopicPartition
from headrace.kafka.errors import KafkaClientError
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.sink.sink_committer import CommitTiming, SinkCommitter
from headrace.task.sink.sink_offset_commit import SinkOffsetCommit
from headrace.task.task_metrics import TaskMetrics

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Heard:
    """A consumer that succeeds; `answers` come with the next call of ``take_commits``."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.answers: list[Any] = []
        self.error: ConnectError | None = None

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.calls.append(("seek", dict(offsets)))

    def commit_async(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.calls.append(("async", dict(offsets)))

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.calls.append(("commit", dict(offsets)))
        if self.error is not None:
            raise self.error

    def take_commits(self) -> list[Any]:
        taken, self.answers = self.answers, []
        return taken


class Task(SinkTask):
    def __init__(self, calls: list[Any]) -> None:
        self.calls = calls
        self.error: Exception | None = None

    def start(self, props: Any) -> None: ...

    def put(self, records: Any) -> None: ...

    def stop(self) -> None: ...

    def pre_commit(self, current_offsets: Any) -> Any:
        self.calls.append(("pre_commit", {where: each.offset for where, each in current_offsets.items()}))
        if self.error is not None:
            raise self.error
        return current_offsets

    def close(self, partitions: Any) -> None:
        self.calls.append(("close", list(partitions)))


class Bench:
    def __init__(self, clock: Any) -> None:
        self.consumer = Heard()
        self.calls = self.consumer.calls
        self.task = Task(self.calls)
        self.offsets = SinkOffsetCommit()
        self.figures: dict[str, float] = {}
        self.metrics = TaskMetrics(self.figures.update, clock)
        self.committer = SinkCommitter(
            ErrorReports(),
            self.task,
            self.consumer,
            self.offsets,
            lambda: self.calls.append("await reports"),
            self.metrics,
            CommitTiming(60, 5, clock),
        )
        self.offsets.add_partitions({A: 0, B: 0})

    def deliver(self, where: TopicPartition, end: int) -> None:
        self.offsets.record_consumed({where: end}, {where: 0})
        self.offsets.record_put()


@pytest.fixture
def bench(clock: Any) -> Bench:
    return Bench(clock)


def test_commits_come_at_intervals_after_pre_commit_and_reports(bench: Bench, clock: Any) -> None:
    bench.deliver(A, 5)
    assert not bench.committer.commit_if_due(False)
    clock.now += 60
    assert bench.committer.commit_if_due(False)
    assert bench.calls == ["await reports", ("pre_commit", {A: 5, B: 0}), "await reports", ("async", {A: 5})]
    # One at a time.
    bench.deliver(A, 6)
    assert not bench.committer.commit_if_due(True)
    bench.consumer.answers = [({A: 5}, None)]
    assert bench.committer.commit_if_due(True)
    assert bench.calls[-1] == ("async", {A: 6})


def test_a_commit_that_is_not_answered_is_given_up(bench: Bench, clock: Any) -> None:
    bench.deliver(A, 5)
    bench.committer.commit_if_due(True)
    clock.now += 5
    assert bench.committer.commit_if_due(True)
    assert [call for call in bench.calls if call[0] == "async"] == [("async", {A: 5})] * 2


def test_a_pre_commit_that_fails_goes_back(bench: Bench) -> None:
    bench.deliver(A, 5)
    bench.task.error = ValueError("no")
    bench.committer.commit_if_due(True)
    assert bench.calls[-1] == ("seek", {A: 0, B: 0})
    assert bench.offsets.to_commit()[A] == OffsetAndMetadata(0)


def test_closing_commits_before_the_partitions_go(bench: Bench) -> None:
    bench.deliver(A, 5)
    bench.committer.close_partitions([A])
    calls = ["await reports", ("pre_commit", {A: 5}), ("close", [A]), "await reports", ("commit", {A: 5})]
    assert bench.calls == calls
    assert A not in bench.offsets.current


@pytest.mark.parametrize("of_task", [True, False])
def test_a_closing_commit_that_fails_is_no_failure(bench: Bench, of_task: bool) -> None:
    bench.deliver(A, 5)
    if of_task:
        bench.task.error = ValueError("no")
    else:
        bench.consumer.error = KafkaClientError("expelled")
    bench.committer.close_partitions([A])
    assert ("close", [A]) in bench.calls
    assert A not in bench.offsets.current


def test_lost_partitions_are_closed_and_not_committed(bench: Bench) -> None:
    bench.deliver(A, 5)
    bench.committer.close_lost_partitions([A])
    assert bench.calls == [("close", [A])]
    assert A not in bench.offsets.current


def test_figures_of_commits(bench: Bench, clock: Any) -> None:
    bench.deliver(A, 5)
    bench.committer.commit_if_due(True)
    bench.consumer.answers = [({A: 5}, None)]
    bench.committer.commit_if_due(False)
    bench.deliver(B, 3)
    bench.committer.commit_if_due(True)
    bench.consumer.answers = [({B: 3}, KafkaClientError("no"))]
    bench.committer.commit_if_due(False)
    bench.metrics.report()
    figures = bench.figures
    assert (figures["offset-commit-completion-total"], figures["offset-commit-failure-total"]) == (1, 1)
    assert figures["offset-commit-success-percentage"] == figures["offset-commit-failure-percentage"] == 0.5
    assert figures["sink-record-active-count-max"] == 5
    assert bench.offsets.active == 3, "what was put to B is not committed"
