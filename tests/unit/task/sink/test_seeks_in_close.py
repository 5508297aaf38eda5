# SPDX-License-Identifier: Apache-2.0
"""A task that commits offsets itself seeks in ``close``, in all its partitions: those that it loses, and the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headrace.api.sink import SinkTask, TopicPartition
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.sink.sink_batch import SinkBatch
from headrace.task.sink.sink_offset_commit import SinkOffsetCommit
from headrace.task.sink.sink_task_context import PartitionPauses, WorkerSinkTaskContext
from headrace.task.sink.worker_sink_task import Progress, SinkRebalances, SinkTaskRuntime, WorkerSinkTask
from headrace.task.task_metrics import TaskMetrics

KEPT, LOST = TopicPartition("t", 0), TopicPartition("t", 1)


class Messages(ConsumedMessages):
    """One message of each partition, its offset 7."""

    def __init__(self, where: Collection[TopicPartition]) -> None:
        super().__init__(cast(Any, sorted(where)))

    topics = property(lambda self: [each.topic for each in self.messages])  # type: ignore[assignment]
    partitions = property(lambda self: [each.partition for each in self.messages])  # type: ignore[assignment]
    offsets = property(lambda self: [7 for _ in self.messages])  # type: ignore[assignment]
    keys = values = property(lambda self: [b"" for _ in self.messages])  # type: ignore[assignment]

    def within(self, partitions: Collection[TopicPartition]) -> ConsumedMessages:
        return Messages([each for each in self.messages if each in partitions])  # type: ignore[comparison-overlap]


class Bench(SinkTask):
    """A task that seeks to offset 3 of all its partitions in ``close``, with a consumer that has ``assignment``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.assignment = {KEPT, LOST}
        self.sought: list[Mapping[TopicPartition, int]] = []
        self.given: list[list[Any]] = []
        self.while_reading: Callable[[], None] = lambda: None
        progress = Progress(SinkOffsetCommit(), PartitionPauses())
        metrics = TaskMetrics(lambda figures: None, clock)
        services = cast(Any, SimpleNamespace())
        self.sink_context = WorkerSinkTaskContext({}, lambda: self.assignment, progress.pauses, self.nothing, services)
        itself = cast(Any, self)
        self.next = float("inf")
        self.rebalances = SinkRebalances(self, self.sink_context, progress, itself, itself, metrics)
        control, link = SimpleNamespace(paused=False, stopping=False), SimpleNamespace(send=lambda message: None)
        runtime = SinkTaskRuntime(cast(Any, control), cast(Any, link), metrics, ErrorReports(), 10, self.nothing, clock)
        self.loop = WorkerSinkTask(itself, itself, itself, itself, progress, self.sink_context, runtime)

    # ---- the task

    def start(self, props: Mapping[str, str]) -> None: ...

    def close(self, partitions: Collection[TopicPartition]) -> None:
        self.sink_context.offsets(dict.fromkeys(self.assignment, 3))

    def put(self, records: Any) -> None:
        self.given.append(list(records.records))

    def stop(self) -> None: ...

    # ---- its consumer, its committer and its batches

    def nothing(self) -> None: ...

    @contextmanager
    def busy(self) -> Iterator[None]:
        yield

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.sought.append(dict(offsets))

    def read(self, limit: int, timeout: float) -> ConsumedMessages:
        read = Messages(self.assignment)
        self.while_reading()
        return read.within(self.assignment)

    def commit_if_due(self, requested: bool) -> bool:
        return False

    def close_partitions(self, partitions: Collection[TopicPartition]) -> None:
        self.close(partitions)

    def convert(self, messages: ConsumedMessages) -> SinkBatch:
        return SinkBatch(cast(Any, messages.messages))

    def transform(self, batch: SinkBatch) -> None: ...

    def lose(self) -> None:
        self.rebalances.revoked([LOST])
        self.assignment = {KEPT}


@pytest.fixture
def bench(clock: Any) -> Bench:
    return Bench(clock)


def test_what_was_read_before_is_not_put(bench: Bench) -> None:
    bench.while_reading = bench.lose
    bench.loop._iterate()
    assert bench.sought == [{KEPT: 3}]
    assert bench.given == [[]], "they are read again from offset 3 on"
    bench.while_reading = bench.nothing
    bench.loop._iterate()
    assert bench.given[1:] == [[KEPT]] and len(bench.sought) == 1


def test_it_does_not_hold_for_a_partition_that_is_assigned_again(bench: Bench) -> None:
    bench.lose()
    bench.assignment = {KEPT, LOST}
    assert bench.rebalances.assigned([LOST], {LOST: 9}) == {}, "another member has gone on to offset 9"
    bench.loop._iterate()
    assert bench.sought == [{KEPT: 3}]
