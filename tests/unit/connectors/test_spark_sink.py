# SPDX-License-Identifier: Apache-2.0
"""SparkSink's task without Spark: when it writes, what it does after errors, and which offsets it lets be committed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.api.frames import FrameJob
from headrace.api.record import SinkRecord
from headrace.api.schema import Schema
from headrace.api.sink import NewOffset, OffsetAndMetadata, TopicPartition
from headrace.connectors.spark_sink import spark_sink
from headrace.connectors.spark_sink.spark_sink import SparkSinkConnector, SparkSinkTask

PROPS = {"name": "c", "spark.format": "json", "path": "/out/${topic}", "flush.size": "3"}
JDBC = {"name": "c", "spark.format": "jdbc", "table": "rows", "spark.option.url": "jdbc:postgresql://host/db"}


class Target:
    """A `Frames` that keeps what is written, as a target does. ``troubles`` befall the next writes: before or after."""

    def __init__(self) -> None:
        self.states: dict[tuple[str, int], tuple[int, int]] = {}
        self.batches: list[list[tuple[int, int, int]]] = []
        self.values: list[Any] = []
        self.jobs: list[FrameJob] = []
        self.troubles: list[tuple[str, Exception]] = []
        self.topic_id = "first"
        self.topics: dict[tuple[str, int], str] = {}

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        self.jobs.append(job)
        places = json.loads(job.settings["batches"])
        return self._taken_over(places) if table is None else self._write(places, table)

    def _taken_over(self, places: list[Mapping[str, Any]]) -> pa.Table:
        rows = []
        for place in places:
            key = (place["topic"], place["partition"])
            next, number = self.states.get(key, (0, 0))
            if self.topics.setdefault(key, place["topic_id"]) != place["topic_id"]:
                next, self.topics[key] = 0, place["topic_id"]
            self.states[key] = (next, number + 1)
            rows.append({"partition": place["partition"], "next": next, "number": number + 1})
        return pa.Table.from_pylist(rows)

    def _write(self, places: list[Mapping[str, Any]], table: pa.Table) -> pa.Table:
        when, error = self.troubles.pop(0) if self.troubles else ("", None)
        if when == "before":
            raise error
        for place in places:
            key = (place["topic"], place["partition"])
            assert self.states[key] == (place["next"], place["number"]), "fenced"
            self.states[key] = (place["last"] + 1, place["number"] + 1)
        self.batches.append([(place["partition"], place["first"], place["last"]) for place in places])
        self.values += table.column("value").to_pylist()
        if when == "after":
            raise error
        return pa.table({})


class Clock:
    now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(spark_sink, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


class Running:
    """A started task, and what it asked of its context."""

    def __init__(self, target: Target, **props: str) -> None:
        self.target = target
        self.timeouts: list[int] = []
        self.task = SparkSinkTask()
        context: Any = SimpleNamespace(
            frames=target, timeout_ms=self.timeouts.append, topic_id=lambda topic: target.topic_id
        )
        self.task.initialize(context)
        self.task.start({**PROPS, **props})

    def put(self, first: int, count: int, partition: int = 0, value: str | None = "") -> None:
        rows = range(first, first + count)
        self.task.put_table(
            pa.table(
                {
                    "value": pa.array([value if value is None else f"{partition}:{n}" for n in rows], pa.string()),
                    "key": pa.nulls(count),
                    "topic": ["t"] * count,
                    "partition": pa.array([partition] * count, pa.int32()),
                    "offset": pa.array(rows, pa.int64()),
                    "timestamp": pa.array([0] * count, pa.int64()),
                }
            )
        )

    def committed(self, *offsets: int) -> list[int]:
        asked = {TopicPartition("t", p): OffsetAndMetadata(offset) for p, offset in enumerate(offsets)}
        return [each.offset for each in self.task.pre_commit(asked).values()]


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def running(target: Target, clock: Clock) -> Iterator[Running]:
    running = Running(target)
    yield running
    running.task.stop()


def test_enough_records_are_written_and_their_offsets_committed(running: Running, target: Target) -> None:
    running.put(0, 2)
    assert target.batches == []
    assert running.committed(2) == [0]
    running.put(2, 2)
    assert target.batches == [[(0, 0, 3)]]
    assert target.values == ["0:0", "0:1", "0:2", "0:3"]
    assert running.committed(4) == [4]


def test_what_is_old_is_written_without_more_records(running: Running, target: Target, clock: Clock) -> None:
    running.put(0, 1)
    assert running.timeouts == [60_001]
    clock.now += 61
    running.task.put([])
    assert target.batches == [[(0, 0, 0)]]


@pytest.mark.parametrize(
    ("props", "batches"), [({}, [[(0, 0, 0)], [(1, 0, 0)]]), ({**JDBC, "path": ""}, [[(0, 0, 0), (1, 0, 0)]])]
)
def test_files_are_written_for_each_partition_and_rows_of_a_table_together(
    target: Target, clock: Clock, props: dict[str, str], batches: list[list[tuple[int, int, int]]]
) -> None:
    running = Running(target, **props)
    for partition in (0, 1):
        running.put(0, 1, partition)
    clock.now += 61
    running.task.put([])
    assert target.batches == batches


def test_a_batch_that_cannot_be_written_is_tried_again(running: Running, target: Target) -> None:
    target.troubles = [("before", RetriableError("away"))]
    with pytest.raises(RetriableError, match="away"):
        running.put(0, 3)
    assert running.timeouts == [3000]
    assert running.committed(3) == [0]
    running.put(0, 3)
    assert target.values == ["0:0", "0:1", "0:2"]
    assert running.committed(3) == [3]


def test_a_batch_that_was_written_all_the_same_is_not_written_again(running: Running, target: Target) -> None:
    running.put(0, 2)
    target.troubles = [("after", RetriableError("no answer"))]
    with pytest.raises(RetriableError):
        running.put(2, 2)
    running.put(2, 2)
    assert target.batches == [[(0, 0, 3)]]
    assert running.committed(4) == [4]


def test_a_successor_leaves_out_what_is_written(running: Running, target: Target) -> None:
    running.put(0, 4)
    successor = Running(target)
    # Its offsets were not committed, so it reads them again, in other portions.
    successor.put(2, 5)
    assert target.batches == [[(0, 0, 3)], [(0, 4, 6)]]
    assert target.values == [f"0:{n}" for n in range(7)]
    # The former one is fenced off.
    with pytest.raises(AssertionError, match="fenced"):
        running.put(4, 3)


def test_partitions_that_go_leave_nothing_behind(running: Running, target: Target) -> None:
    where = [TopicPartition("t", 0)]
    running.put(0, 2)
    running.task.close(where)
    running.task.open(where)
    running.put(0, 3)
    assert target.batches == [[(0, 0, 2)]]
    assert [job.function.partition(":")[2] for job in target.jobs] == ["take_over", "take_over", "write"]


def test_a_topic_that_is_created_again_is_written_from_its_start(running: Running, target: Target) -> None:
    """Not taken for records that are written already; what is held back of the former one is not lost either."""
    running.task.open([TopicPartition("t", 0)])
    running.put(0, 5)
    running.put(5, 1)
    target.topic_id = "second"
    running.put(0, 4)
    assert target.batches == [[(0, 0, 4)], [(0, 5, 5)], [(0, 0, 3)]]
    assert running.committed(4) == [4]
    # After that, what comes again is left out as ever.
    running.put(2, 3)
    assert running.committed(5) == [4]
    successor = Running(target)
    successor.put(2, 5)
    assert target.batches[3:] == [[(0, 4, 6)]]


def test_a_topic_that_is_created_again_while_the_target_is_away(running: Running, target: Target) -> None:
    running.put(0, 2)
    target.topic_id = "second"
    target.troubles = [("before", RetriableError("away")), ("after", RetriableError("no answer"))]
    for _ in range(2):
        with pytest.raises(RetriableError):
            running.put(0, 4)
    running.put(0, 4)
    assert target.batches == [[(0, 0, 1)], [(0, 0, 3)]]
    assert target.values == ["0:0", "0:1", "0:0", "0:1", "0:2", "0:3"]


def test_a_successor_writes_a_topic_that_was_created_again(running: Running, target: Target) -> None:
    running.put(0, 4)
    target.topic_id = "second"
    Running(target).put(0, 4)
    assert target.batches == [[(0, 0, 3)], [(0, 0, 3)]]


def test_patience_ends(target: Target, clock: Clock) -> None:
    running = Running(target, **{"max.retries": "2", "retry.backoff.ms": "5"})
    target.troubles = [("before", RetriableError("away"))] * 3
    for _ in range(2):
        with pytest.raises(RetriableError):
            running.put(0, 3)
    with pytest.raises(ConnectError, match="Given up after 2 retries: away") as caught:
        running.put(0, 3)
    assert not isinstance(caught.value, RetriableError)


def test_retries_are_counted_again_after_a_success(target: Target, clock: Clock) -> None:
    running = Running(target, **{"max.retries": "1"})
    for first in (0, 3, 6):
        target.troubles = [("before", RetriableError("away"))]
        with pytest.raises(RetriableError):
            running.put(first, 3)
        running.put(first, 3)
    assert target.values == [f"0:{n}" for n in range(9)]


def test_errors_that_stay_are_raised_at_once(running: Running, target: Target) -> None:
    target.troubles = [("before", ConfigError("no such column"))]
    with pytest.raises(ConfigError, match="no such column"):
        running.put(0, 3)


def test_records_without_a_value(target: Target, clock: Clock) -> None:
    with pytest.raises(DataError, match=r"offset 7 of t-0 has no value; behavior.on.null.values=ignore"):
        Running(target).put(7, 3, value=None)
    ignoring = Running(target, **{"behavior.on.null.values": "ignore"})
    ignoring.put(7, 3, value=None)
    assert target.values == []
    assert ignoring.committed(10) == [10]
    Running(target, **{"behavior.on.null.values": "write"}).put(7, 3, value=None)
    assert target.values == [None, None, None]


def test_records_are_written_as_tables_are(running: Running, target: Target) -> None:
    records = [SinkRecord("t", 0, None, None, Schema.INT64, n, n) for n in range(3)]
    running.task.put(records)
    assert target.values == [0, 1, 2]


def test_rows_that_a_query_has_mixed_up_are_in_order_again(running: Running, target: Target) -> None:
    """Several of one offset are what one record has become, and are written together."""
    offsets = [7, 5, 5, 8, 6, 5]
    table = pa.table(
        {
            "value": [f"{offset}:{n}" for n, offset in enumerate(offsets)],
            "key": pa.nulls(6),
            "topic": ["t"] * 6,
            "partition": pa.array([0] * 6, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": pa.array([0] * 6, pa.int64()),
        }
    )
    running.task.put_table(table)
    assert target.batches == [[(0, 5, 8)]]
    assert target.values == ["5:1", "5:2", "5:5", "6:4", "7:0", "8:3"]


def test_a_job_shows_its_subject(running: Running, target: Target) -> None:
    running.put(5, 3)
    job = target.jobs[-1]
    assert job.function == "headrace.connectors.spark_sink.spark_sink_files:write"
    assert job.description == "write t-0 5 to 7"
    assert job.settings["path"] == "/out/t"
    assert job.settings["spark.format"] == "json"


@pytest.mark.parametrize(
    ("props", "property", "message"),
    [
        ({"spark.format": "json"}, "path", "needs the directory"),
        ({"spark.format": "json", "path": "/x", "table": "t"}, "table", "writes files"),
        ({"spark.format": "delta"}, "path", "either path or table"),
        ({"spark.format": "delta", "path": "/x", "partition.by": "a"}, "partition.by", "only files"),
        ({"spark.format": "delta", "path": "/x", "insert.mode": "upsert"}, "insert.mode", "only spark.format=jdbc"),
        ({**JDBC, "table": ""}, "table", "needs the table"),
        ({**JDBC, "spark.option.url": "jdbc:mysql://host/db"}, "spark.format", "PostgreSQL"),
        ({**JDBC, "insert.mode": "upsert"}, "pk.fields", "primary key"),
    ],
)
def test_properties_that_do_not_go_together(props: dict[str, str], property: str, message: str) -> None:
    values = SparkSinkConnector().validate({"name": "c", **props})
    wrong = {value.name: value.error_messages for value in values if value.error_messages}
    assert list(wrong) == [property]
    assert message in wrong[property][0]
    task = SparkSinkTask()
    task.initialize(SimpleNamespace(frames=None))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message):
        task.start({"name": "c", **props})


def test_an_operators_offsets_are_brought_to_the_target_in_two_steps() -> None:
    connector, by_topic = SparkSinkConnector(), {**PROPS, "topics": "t,u"}
    offsets = {
        TopicPartition("t", 1): NewOffset(7, asked=True),
        TopicPartition("u", 0): NewOffset(0, asked=False),
        TopicPartition("t", 0): NewOffset(9, asked=True),
    }
    assert connector.alter_offsets(by_topic, {TopicPartition("t", 1): 7})
    jobs = connector.frame_alter_offsets(by_topic, offsets)
    assert jobs is not None
    assert jobs.before.settings == jobs.after.settings
    assert [job.function.partition(":")[2] for job in (jobs.before, jobs.after)] == ["before_change", "after_change"]
    targets = json.loads(jobs.before.settings["targets"])
    assert [target["path"] for target in targets] == ["/out/t", "/out/u"]
    places = [json.loads(target["batches"]) for target in targets]
    assert [[(p["partition"], p["to"], p["asked"]) for p in each] for each in places] == [
        [(0, 9, True), (1, 7, True)],
        [(0, 0, False)],
    ]
    assert len({place["token"] for each in places for place in each}) == 1
    # Each time another one.
    again = connector.frame_alter_offsets(by_topic, offsets)
    assert again is not None and again.before.settings != jobs.before.settings
    assert connector.frame_alter_offsets(by_topic, {}) is None
    # Of these tables the memory is nothing to be changed.
    for props in ({**PROPS, "spark.format": "delta"}, {**PROPS, "spark.format": "iceberg"}):
        assert not connector.alter_offsets(props, {})
        assert connector.frame_alter_offsets(props, offsets) is None


def test_a_format_that_is_missing_is_the_one_mistake() -> None:
    values = SparkSinkConnector().validate({"name": "c"})
    assert [value.name for value in values if value.error_messages] == ["spark.format"]


def test_good_properties_are_good() -> None:
    for props in (PROPS, JDBC, {**JDBC, "insert.mode": "upsert", "pk.fields": "id"}):
        values = SparkSinkConnector().validate({"name": "c", **props})
        assert [value.error_messages for value in values if value.error_messages] == []


@pytest.mark.parametrize(("nulls", "values"), [("ignore", ["a"]), ("write", ["a", None])])
def test_a_dry_run_returns_the_rows_for_spark(nulls: str, values: list[Any]) -> None:
    records = [SinkRecord("t", 0, None, None, Schema.STRING, value, n) for n, value in enumerate(["a", None])]
    found = SparkSinkConnector().dry_run({**PROPS, "behavior.on.null.values": nulls}, records)
    assert [row["value"] for row in found.rows] == values and found.schema == "/out/t: value STRING"


def test_a_dry_run_fails_as_a_write_does() -> None:
    with pytest.raises(DataError, match="The record at offset 4 of t-0 has no value"):
        config = {**PROPS, "behavior.on.null.values": "fail"}
        SparkSinkConnector().dry_run(config, [SinkRecord("t", 0, None, None, None, None, 4)])
