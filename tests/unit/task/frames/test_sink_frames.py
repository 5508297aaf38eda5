# SPDX-License-Identifier: Apache-2.0
"""Steps on frames in the chain of a sink: what their jobs are given, which record a row is of, and second tries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message

from headrace.api import DataError, RetriableError, Schema, SinkRecord, SinkTask
from headrace.api.frames import FrameJob
from headrace.api.record import TimestampType
from headrace.api.record_frames import OFFSETS
from headrace.api.sink import ColumnarSinkTask, TopicPartition
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.converters.string_converter import StringConverter
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.errors.retry_with_tolerance import ToleranceExceededError
from headrace.task.frames.frame_step import FrameJobNotRunError
from headrace.task.frames.sink_frames import create_sink_frame_chain
from headrace.task.sink.sink_batch import SinkBatch, SinkBatches
from headrace.task.sink.sink_record_converter import HeadersReader, Reader, SinkRecordConverter
from headrace.task.transformation_chain import TransformationChain

SQL = {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.query": "SELECT 1"}
ROUTED = {"type": "RegexRouter", "regex": ".*", "replacement": "routed"}
CAST = {"type": "Cast$Value", "spec": "int32"}
Frame = Callable[[pa.Table], pa.Table]


class PlayedFrames:
    """Spark's part is played by a function of the input."""

    def __init__(self, frame: Frame = lambda table: table) -> None:
        self.frame = frame
        self.jobs: list[FrameJob] = []
        self.given: list[pa.Table] = []
        self.errors: list[Exception] = []

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        assert table is not None
        self.jobs.append(job)
        if self.errors:
            raise self.errors.pop(0)
        self.given.append(table)
        return self.frame(table)

    def stream(self, job: FrameJob) -> Any:
        raise AssertionError("steps run whole batches")


class Taken(SinkTask):
    """Keeps what it is put."""

    def __init__(self) -> None:
        self.batches: list[list[SinkRecord]] = []

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None: ...

    def put(self, records: Any) -> None:
        self.batches.append(list(records))

    def stop(self) -> None: ...


class TakenInColumns(Taken, ColumnarSinkTask):
    def put_table(self, table: pa.Table) -> None:
        raise AssertionError("a step on frames makes records")


def message(offset: int, value: str = "v", partition: int = 0, topic: str = "t", **more: Any) -> Message:
    fields = {"key": None, "timestamp": (1, 1000 + offset), **more}
    return Message(topic=topic, partition=partition, offset=offset, value=value.encode(), **fields)


Make = Callable[..., SinkBatches]


@pytest.fixture
def make(errors: Any, plugins: Plugins) -> Make:
    def make(
        frames: PlayedFrames,
        task: SinkTask | None = None,
        steps: Mapping[str, Mapping[str, str]] | None = None,
        tolerates: bool = True,
    ) -> SinkBatches:
        config = {"name": "c", "connector.class": "C", "topics": "t", **SQL}
        for alias, step in (steps or {}).items():
            config |= {f"transforms.{alias}.{name}": value for name, value in step.items()}
        if steps:
            config["transforms"] = ",".join(steps)
        handling = errors(tolerates=tolerates)
        converter = SinkRecordConverter(
            Reader(Operation(Stage.KEY_CONVERTER, "Key"), StringConverter()),
            Reader(Operation(Stage.VALUE_CONVERTER, "Value"), StringConverter()),
            HeadersReader(Operation(Stage.HEADER_CONVERTER, "Headers"), SimpleHeaderConverter()),
            TransformationChain((), handling),
            handling,
            reportable=True,
        )
        chain = create_sink_frame_chain(SinkConnectorConfig(config), plugins, handling, frames, converter.original)
        return SinkBatches(task or Taken(), converter, chain)

    return make


def transformed(batches: SinkBatches, *messages: Message) -> SinkBatch:
    batch = batches.convert(ConsumedMessages(messages))
    batches.transform(batch)
    return batch


def rows(partitions: Sequence[Any], offsets: Sequence[Any], values: Sequence[Any], **more: Any) -> Frame:
    columns = {"partition": pa.array(partitions, pa.int32()), "offset": pa.array(offsets, pa.int64())}
    return lambda table: pa.table({**columns, "value": values, **more})


def test_a_row_has_the_place_in_kafka(make: Make) -> None:
    frames = PlayedFrames()
    batch = transformed(make(frames), message(5, "a", 1, key=b"k"), message(6, "b", 1, timestamp=(2, 9)))
    [table] = frames.given
    assert table.select(["topic", "partition", "offset", "value"]).to_pylist() == [
        {"topic": "t", "partition": 1, "offset": 5, "value": "a"},
        {"topic": "t", "partition": 1, "offset": 6, "value": "b"},
    ]
    assert OFFSETS in frames.jobs[0].settings
    assert [(r.key, r.value, r.kafka_offset, r.timestamp, r.timestamp_type) for r in batch.records] == [
        ("k", "a", 5, 1005, TimestampType.CREATE_TIME),
        (None, "b", 6, 9, TimestampType.LOG_APPEND_TIME),
    ]


def test_where_a_record_was_read_stays_whatever_a_query_makes_of_its_topic(make: Make) -> None:
    frames = PlayedFrames(rows([1], [5], ["x"], topic=["elsewhere"]))
    steps = {"route": ROUTED, "q": {"type": "SparkSql"}}
    [record] = transformed(make(frames, steps=steps), message(5, partition=1, headers=[("h", b"1")])).records
    assert frames.given[0].column("topic").to_pylist() == ["routed"]
    origin = (record.original_topic, record.original_kafka_partition, record.original_kafka_offset)
    assert (record.topic, record.kafka_partition, origin) == ("elsewhere", 1, ("t", 1, 5))
    assert (record.timestamp, record.key, record.has_headers) == (None, None, False)


def test_one_topic_at_a_time(make: Make) -> None:
    frames = PlayedFrames(lambda table: table.select(["partition", "offset", "value"]))
    batch = transformed(make(frames), message(5, "a"), message(5, "b", topic="u"), message(6, "c"))
    assert [table.column("value").to_pylist() for table in frames.given] == [["a", "c"], ["b"]]
    assert [(r.topic, r.original_topic, r.value) for r in batch.records] == [
        ("t", "t", "a"),
        ("t", "t", "c"),
        ("u", "u", "b"),
    ]


def test_rows_go_on_in_the_order_of_offsets_and_those_of_one_record_in_the_querys(make: Make) -> None:
    """SparkSink takes the offset of the last row for the highest."""
    frames = PlayedFrames(rows([1, 0, 0, 1, 0], [9, 7, 6, 8, 7], ["d", "y", "a", "c", "x"]))
    messages = [message(offset, partition=partition) for partition, offset in ((0, 6), (0, 7), (1, 8), (1, 9))]
    batch = transformed(make(frames), *messages)
    assert [r.value for r in batch.records] == ["a", "y", "x", "c", "d"]
    assert [(r.original_kafka_partition, r.original_kafka_offset) for r in batch.records] == [
        (0, 6), (0, 7), (0, 7), (1, 8), (1, 9),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("partition", "offset", "expected"),
    [(0, 7, "partition 0 and offset 7"), (1, 6, "partition 1 and"), (None, 6, "null and"), (0, None, "offset null")],
)
def test_a_row_of_no_record_of_the_batch_is_refused(
    make: Make, partition: int | None, offset: int | None, expected: str
) -> None:
    frames = PlayedFrames(rows([0, partition], [6, offset], ["a", "b"]))
    with pytest.raises(DataError, match=rf"transforms\.q: .*{expected}"):
        transformed(make(frames), message(6))


def test_steps_on_records_stand_around_it(make: Make) -> None:
    frames = PlayedFrames(rows([0, 0], [6, 6], ["1", "2"], topic=["x", "x"]))
    steps = {"route": ROUTED, "q": {"type": "SparkSql"}, "cast": CAST}
    batch = transformed(make(frames, steps=steps), message(6))
    assert [(r.value, r.value_schema) for r in batch.records] == [(1, Schema.INT32), (2, Schema.INT32)]


def test_a_row_that_fails_is_reported_with_its_consumed_record(make: Make, errors: Any) -> None:
    frames = PlayedFrames(rows([0, 0], [6, 7], ["1", "none"]))
    steps = {"q": {"type": "SparkSql"}, "cast": CAST}
    batch = transformed(make(frames, steps=steps), message(6), message(7, "raw"))
    assert [r.value for r in batch.records] == [1]
    [context] = errors.reported
    assert (context.original.offset, context.original.value) == (7, b"raw")
    with pytest.raises(ToleranceExceededError, match="topic t, partition 0, offset 7"):
        transformed(make(frames, steps=steps, tolerates=False), message(6), message(7, "raw"))


def test_a_second_try_goes_on_where_the_first_one_stood(make: Make, errors: Any) -> None:
    """What a step on records has reported is not reported again."""
    frames = PlayedFrames()
    frames.errors = [RetriableError("lost"), RetriableError("lost")]
    task = Taken()
    batches = make(frames, task, {"cast": CAST, "q": {"type": "SparkSql"}})
    batch = batches.convert(ConsumedMessages([message(5, "1"), message(6, "none"), message(7, "3")]))
    for _ in range(2):
        with pytest.raises(FrameJobNotRunError, match=r"transforms\.q could not be run: lost"):
            batches.transform(batch)
    batches.transform(batch)
    batches.put(batch)
    assert [[r.value for r in records] for records in task.batches] == [[1, 3]]
    assert len(errors.reported) == 1
    # As often as the task wants it put again, it is the same.
    batches.transform(batch)
    assert len(frames.given) == 1


def test_a_step_on_frames_counts_its_records_and_rows(make: Make, errors: Any) -> None:
    frames = PlayedFrames(lambda table: table.slice(0, 2))
    frames.errors = [RetriableError("lost")]
    batches = make(frames, steps={"cast": CAST, "q": {"type": "SparkSql"}, "route": ROUTED})
    batch = batches.convert(ConsumedMessages([message(5 + n, value) for n, value in enumerate("1x345")]))
    with pytest.raises(FrameJobNotRunError):
        batches.transform(batch)
    batches.transform(batch)
    assert counted(errors) == {"cast": (5, 4, 0, 1, 0), "q": (4, 2, None, 0, 1), "route": (2, 2, 0, 0, 0)}


def counted(errors: Any) -> dict[str, tuple[int | None, ...]]:
    """The counts of transformations by their alias."""
    return {
        each.alias: (each.records_in, each.records_out, each.filtered, each.errors, each.retries)
        for each in errors.metrics.steps.counts()
        if each.alias is not None
    }


def test_partitions_that_go_between_two_tries_are_left_out(make: Make) -> None:
    frames = PlayedFrames()
    frames.errors = [RetriableError("lost")]
    batches = make(frames)
    batch = batches.convert(ConsumedMessages([message(5, "a", 0), message(5, "b", 1)]))
    with pytest.raises(FrameJobNotRunError):
        batches.transform(batch)
    rest = batches.without(batch, [TopicPartition("t", 0)])
    batches.transform(rest)
    assert [(r.original_kafka_partition, r.value) for r in rest.records] == [(1, "b")]
    # What the task itself wants put again is not transformed again, whatever is left of it.
    batches.transform(batches.without(rest, [TopicPartition("t", 0)]))
    assert len(frames.jobs) == 2
    gone = batches.without(batch, [TopicPartition("t", 0), TopicPartition("t", 1)])
    batches.transform(gone)
    assert (gone.size, len(frames.jobs)) == (0, 2)


def test_nothing_is_left_of_what_a_query_drops(make: Make) -> None:
    frames = PlayedFrames(rows([], [], pa.array([], pa.string())))
    assert transformed(make(frames), message(5)).size == 0
    assert transformed(make(frames)).size == 0
    assert len(frames.jobs) == 1


def test_a_task_that_takes_tables_gets_records(make: Make) -> None:
    task = TakenInColumns()
    batches = make(PlayedFrames(), task)
    batches.put(transformed(batches, message(5, "a")))
    assert [[r.value for r in records] for records in task.batches] == [["a"]]
