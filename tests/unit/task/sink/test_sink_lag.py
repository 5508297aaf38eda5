# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from headrace.api.sink import OffsetAndMetadata, TopicPartition
from headrace.metrics.connect_metric import untagged
from headrace.model.health import Stage
from headrace.task.sink.sink_lag import SinkLag
from headrace.task.sink.sink_offset_commit import SinkOffsetCommit
from headrace.task.task_metrics import TaskMetrics

A, B, C = (TopicPartition("t", number) for number in range(3))


class Fetched:
    """A consumer that knows the ends of some partitions."""

    def __init__(self, **ends: int) -> None:
        self.assignment = {A, B, C}
        self.ends: dict[TopicPartition, int] = {}
        self.read: dict[TopicPartition, int] = {}

    def positions(self) -> dict[TopicPartition, int]:
        return self.read

    def end_offset(self, where: TopicPartition) -> int | None:
        return self.ends.get(where)


def named(reported: dict[str, float]) -> dict[Any, float]:
    """Client's figures by their names and partitions, the others by their names."""
    parts = {name: untagged(name) for name in reported}
    return {
        name if part is None else (part[1], part[2].get("partition"), part[2]["client-id"]): reported[name]
        for name, part in parts.items()
    }


def test_how_far_a_task_is_behind(clock: Any) -> None:
    reports: list[dict[str, float]] = []
    metrics = TaskMetrics(lambda values: reports.append(dict(values)), clock)
    consumer, offsets = Fetched(), SinkOffsetCommit()
    lag = SinkLag(consumer, offsets, "me", metrics)
    metrics.before_report(lag.refresh)
    offsets.add_partitions({A: 0, B: 90})
    consumer.ends = {A: 10, B: 80, C: 7}
    offsets.record_consumed({A: 4}, {A: 0})
    clock.now += 1
    metrics.report_if_due()
    behind = {("records-lag", "0", "me"): 6, ("records-lag", "1", "me"): 0}
    greatest = {"sink-record-lag-max": 6, ("records-lag-max", None, "me"): 6}
    none = {f"sink-record-active-count{kind}": 0 for kind in ("", "-min", "-avg", "-max")}
    assert named(reports[-1]) == {**behind, **greatest, **none}, "C has no position yet, B's end is an old one"
    offsets.record_put()
    offsets.remove_partitions([B])
    consumer.assignment = {A}
    clock.now += 1
    metrics.report_if_due()
    assert named(reports[-1])["sink-record-active-count"] == 4
    assert ("records-lag", "1", "me") not in named(reports[-1])
    assert offsets.committed == {A: OffsetAndMetadata(0)}
    consumer.assignment = set()
    clock.now += 1
    metrics.report_if_due()
    assert "sink-record-lag-max" not in reports[-1]


def test_the_consumers_own_position_decides(clock: Any) -> None:
    """It is after markers and aborted records, which the task gets nothing of."""
    reports: list[dict[str, float]] = []
    metrics = TaskMetrics(lambda values: reports.append(dict(values)), clock)
    consumer, offsets = Fetched(), SinkOffsetCommit()
    metrics.before_report(SinkLag(consumer, offsets, "me", metrics).refresh)
    offsets.add_partitions({A: 3})
    consumer.ends, consumer.read = {A: 10, B: 9, C: 7}, {A: 10, B: 4}
    clock.now += 1
    metrics.report_if_due()
    found = named(reports[-1])
    assert (found["records-lag", "0", "me"], found["records-lag", "1", "me"]) == (0, 5)
    assert ("records-lag", "2", "me") not in found, "it has no position"
    offsets.rewind({A: 2})
    consumer.read = {B: 4}  # as after a seek
    clock.now += 1
    metrics.report_if_due()
    assert named(reports[-1])["records-lag", "0", "me"] == 8


def test_it_has_an_age_that_begins_with_what_is_new(clock: Any) -> None:
    """Not with the last put: after an idle hour, or a pause, what has just arrived is not late."""
    metrics = TaskMetrics(lambda values: None, clock)
    progress, consumer, offsets = metrics.progress, Fetched(), SinkOffsetCommit()
    metrics.before_report(SinkLag(consumer, offsets, "me", metrics).refresh)
    offsets.add_partitions({A: 0})

    def since(end: int, position: int, seconds: float) -> int | None:
        clock.now += seconds
        consumer.ends, consumer.read = {A: end}, {A: position}
        metrics.report_if_due()
        return progress.measure().lag_since

    progress.enter(Stage.READING)
    assert [since(5, 5, 3600), since(9, 5, 1), since(12, 5, 4), since(12, 9, 2)] == [None, 0, 4000, 0]
    progress.enter(Stage.PAUSED)
    assert since(30, 9, 60) is None
    progress.enter(Stage.READING)
    assert [since(30, 9, 1), since(30, 9, 2), since(30, 30, 1)] == [0, 2000, None]
    consumer.assignment = set()
    assert since(40, 30, 1) is None and progress.measure().lag is None
