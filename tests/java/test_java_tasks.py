# SPDX-License-Identifier: Apache-2.0
"""Kafka's own Java tasks, beside headrace's, which do the same."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bench.java_connect import fetch
from headrace.api.arrow_records import table_to_records
from headrace.api.errors import ConnectError, RetriableError
from headrace.api.record import SinkRecord, SourceRecord
from headrace.api.schema import Schema
from headrace.api.sink import OffsetAndMetadata, SinkTask, TopicPartition
from headrace.api.source import RecordMetadata, SourceTask, WrittenRecords
from headrace.connectors.file_stream.file_stream_sink import FileStreamSinkTask
from headrace.connectors.file_stream.file_stream_source import FileStreamSourceTask
from headrace.connectors.testing.mock_connectors import MockSinkTask
from headrace.connectors.testing.schema_source import SchemaSourceTask
from headrace.connectors.testing.verifiable_sink import VerifiableSinkTask
from headrace.connectors.testing.verifiable_source import VerifiableSourceTask
from headrace.converters.json_converter import JsonConverter
from headrace.java.committed_records import record_metadata
from headrace.java.functions import array_element, as_interface, of_same, with_values
from headrace.java.jvm import java_class
from headrace.java.partitions import java_partition
from headrace.java.polled_records import PolledRecords
from headrace.java.sink_task import sink_task_class
from headrace.java.source_task import source_task_class
from headrace.java.task_calls import JavaTask
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.source.source_task_calls import CommitNotifier
from tests.java.java_connectors import compiled
from tests.java.task_contexts import KeptOffsets, SinkContext, SourceContext
from tests.support.debian import or_skip

JSON = JsonConverter()
JSON.configure({"schemas.enable": "false"}, False)
FILE = "org.apache.kafka.connect.file"
TOOLS = "org.apache.kafka.connect.tools"


def java_source(name: str) -> SourceTask:
    return source_task_class(or_skip(fetch), name)()


def java_sink(name: str) -> SinkTask:
    return sink_task_class(or_skip(fetch), name)()


def polled(task: SourceTask, count: int) -> list[SourceRecord]:
    """The next records of a task."""
    records: list[SourceRecord] = []
    while len(records) < count:
        batch = task.poll()
        records += table_to_records(batch) if isinstance(batch, pa.Table) else batch or []
    return records


def started(task: SourceTask, reader: KeptOffsets, **props: str) -> SourceTask:
    task.initialize(SourceContext(reader))
    task.start(props)
    return task


def remembers(task: SourceTask) -> bool:
    """Whether the runtime keeps records for the task's `commit_record`."""
    return CommitNotifier(task, NoLink()).wants_records  # type: ignore[arg-type]


class NoLink:
    """A link that nothing is sent over."""

    send = None


def contents(records: Iterable[SourceRecord]) -> list[dict[str, Any]]:
    """All of records that does not depend on the time."""
    return [
        {
            "partition": record.source_partition,
            "offset": record.source_offset,
            "topic": record.topic,
            "kafka partition": record.kafka_partition,
            "key": (record.key_schema, record.key),
            "value": (record.value_schema, JSON.from_connect_data("t", record.value_schema, record.value)),
            "headers": record.has_headers,
        }
        for record in records
    ]


def test_lines_of_a_file_from_the_committed_position(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("".join(f"line {n}\n" for n in range(3000)))
    committed = {"filename": str(file)}, {"position": 7}
    props = {"file": str(file), "topic": "lines", "batch.size": "1000"}
    java, python = (
        started(task, KeptOffsets(committed), **props)
        for task in (java_source(f"{FILE}.FileStreamSourceTask"), FileStreamSourceTask())
    )
    theirs, ours = polled(java, 2999), polled(python, 2999)
    for record in ours:  # an Arrow column of text has no schema of its own
        record.value_schema = Schema.STRING
    assert contents(theirs) == contents(ours)
    assert theirs[0].value == "line 1"
    assert theirs[0].timestamp is not None
    assert theirs[0].source_partition is theirs[1].source_partition
    copy = theirs[5].with_topic("renamed").with_value(None, None)
    assert (copy.source_offset, copy.topic) == (ours[5].source_offset, "renamed")
    assert java.version() == python.version()


def test_numbered_records_continue_after_the_committed_number() -> None:
    props = {"name": "n", "id": "3", "topic": "t", "throughput": "-1"}
    committed = {"id": 3}, {"seqno": 41}
    java, python = (
        started(task, KeptOffsets(committed), **props)
        for task in (java_source(f"{TOOLS}.VerifiableSourceTask"), VerifiableSourceTask())
    )
    assert contents(polled(java, 20)[:20]) == contents(polled(python, 20)[:20])


@pytest.mark.parametrize("versions", ["false", "true"])
def test_structs_of_one_schema_or_two(versions: str) -> None:
    props = {"name": "n", "id": "0", "topic": "t", "throughput": "-1", "num.messages": "10", "partition.count": "3"}
    java, python = (
        started(task, KeptOffsets(), **props, **{"multiple.schema": versions})
        for task in (java_source(f"{TOOLS}.SchemaSourceTask"), SchemaSourceTask())
    )
    assert contents(polled(java, 10)) == contents(polled(python, 10))


def test_commit_record_has_the_very_record_that_was_polled(capfd: pytest.CaptureFixture[str]) -> None:
    task = started(java_source(f"{TOOLS}.VerifiableSourceTask"), KeptOffsets(), id="0", topic="t", throughput="-1")
    assert remembers(task)
    records = polled(task, 2)
    task.commit_record(records[1], RecordMetadata("t", 0, 17, 1_700_000_000_000))
    task.commit_record(records[0], None)
    task.commit()
    printed = [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    assert [line["seqno"] for line in printed if line.get("committed")] == [1, 0]


def test_commit_record_for_many_records_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    """In their order within each partition."""
    task = started(java_source(f"{TOOLS}.VerifiableSourceTask"), KeptOffsets(), id="0", topic="t", throughput="-1")
    records = PolledRecords([java for _ in range(40) for java in getattr(task.poll(), "java", ())])
    places = [(row, row % 2, 40 - row, None) for row in (*range(0, 40), 7)]
    for count in (len(places), 3):
        task.commit_records(WrittenRecords("t", records, places[:count]))
        task.commit()
        printed = [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
        committed = [line["seqno"] for line in printed if line.get("committed")]
        assert [seqno for seqno in committed if seqno % 2 == 0] == [row for row, *_ in places[:count] if row % 2 == 0]
        assert [seqno for seqno in committed if seqno % 2] == [row for row, *_ in places[:count] if row % 2]


def test_a_records_place_as_java_has_it() -> None:
    made = with_values(record_metadata(), {0: java_partition("t", 3)})
    made = of_same(made, array_element("long", (5, 6)), array_element("long", (-1, 1_700)))
    metadata = as_interface("IntFunction", made).apply(1)
    assert (str(metadata.topic()), metadata.partition(), metadata.offset()) == ("t", 3, 6)
    assert (metadata.timestamp(), metadata.serializedKeySize(), metadata.hasOffset()) == (1_700, -1, True)


def test_a_task_that_does_not_override_commit_record_is_not_asked_to_remember() -> None:
    assert not remembers(java_source(f"{FILE}.FileStreamSourceTask"))


def test_poll_without_records_is_empty_and_stop_ends_its_wait(tmp_path: Path) -> None:
    def stopped_poll() -> float:
        source, missing = java_source(f"{FILE}.FileStreamSourceTask"), str(tmp_path / "missing")
        task = started(source, KeptOffsets(), file=missing, topic="t")
        began = time.monotonic()
        stopping = threading.Timer(0.2, task.stop)
        stopping.start()
        assert task.poll() is None
        took = time.monotonic() - began
        stopping.join()
        return took

    assert min(stopped_poll() for _ in range(3)) < 0.9, "it waits for a second unless it is stopped"


def test_an_error_of_the_task_is_its_own_with_javas_trace() -> None:
    task = java_source(f"{TOOLS}.MockSourceTask")
    task.initialize(SourceContext())
    task.start({"mock_mode": "task-failure", "delay_ms": "0"})
    time.sleep(0.01)  # more than no time has to pass
    with pytest.raises(ConnectError, match=r"poll of org\.apache.*MockSourceTask: .*RuntimeException") as raised:
        task.poll()
    assert "at org.apache.kafka.connect.tools.MockSourceTask.poll(" in "".join(raised.value.__notes__)


def test_an_error_after_stop_is_ignored() -> None:
    task = java_source(f"{TOOLS}.MockSourceTask")
    task.initialize(SourceContext())
    task.start({"mock_mode": "task-failure", "delay_ms": "0"})
    time.sleep(0.01)
    task.stop()
    assert task.poll() is None


@pytest.mark.parametrize("kind", [RetriableKafkaError, RetriableError, ConnectError, ValueError])
def test_an_error_of_the_runtime_comes_back_as_it_is(kind: Callable[[str], Exception]) -> None:
    """The type decides: a start without an answer of the brokers is tried again, another one is the task's failure."""
    error = kind("no offsets")
    task = java_source(f"{TOOLS}.VerifiableSourceTask")
    task.initialize(SourceContext(KeptOffsets(error=error)))
    with pytest.raises(type(error)) as raised:
        task.start({"id": "0", "topic": "t", "throughput": "-1"})
    assert raised.value is error


def test_the_threads_class_loader_is_the_plugins_within_a_call() -> None:
    task = JavaTask(or_skip(fetch), f"{FILE}.FileStreamSourceTask")
    thread = java_class("java.lang.Thread").currentThread()
    before = thread.getContextClassLoader()
    with task.calling("version") as java:
        within = thread.getContextClassLoader()
        assert within.equals(java.getClass().getClassLoader())
    assert not within.equals(before)
    assert thread.getContextClassLoader().equals(before)


def sink_records(count: int, partition: int = 0) -> list[SinkRecord]:
    string = Schema.STRING
    return [SinkRecord("t", partition, string, f"k{n}", string, f"v{n}", n, 1_700_000_000_000) for n in range(count)]


def test_values_are_written_to_a_file(tmp_path: Path) -> None:
    wheres, files = {TopicPartition("t", 0): OffsetAndMetadata(3)}, []
    for task, name in ((java_sink(f"{FILE}.FileStreamSinkTask"), "java"), (FileStreamSinkTask(), "python")):
        files.append(tmp_path / name)
        task.initialize(SinkContext())
        task.start({"file": str(files[-1])})
        task.open(list(wheres))
        task.put(sink_records(3))
        assert task.pre_commit(wheres) == wheres
        task.close(list(wheres))
        task.stop()
    assert files[0].read_text() == files[1].read_text() == "v0\nv1\nv2\n"


def test_records_are_reported_when_they_are_put_and_those_of_the_given_partitions_when_they_are_flushed(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Java's task prints what Python's logs."""
    caplog.set_level("INFO")
    for task in (java_sink(f"{TOOLS}.VerifiableSinkTask"), VerifiableSinkTask()):
        task.initialize(SinkContext())
        task.start({"name": "n", "id": "7"})
        task.put([*sink_records(2), *sink_records(1, partition=1)])
        for partition in (1, 0, 0):
            offsets = {TopicPartition("t", partition): OffsetAndMetadata(2, "ours", 7)}
            assert task.pre_commit(offsets) == offsets
    java, python = (
        [json.loads(line) for line in lines if line.startswith("{")]
        for lines in (capfd.readouterr().out.splitlines(), caplog.messages)
    )
    assert [line["seqno"] for line in java] == ["v0", "v1", "v0", "v0", "v0", "v1"]
    assert [line.get("flushed") for line in java] == [None] * 3 + [True] * 3
    assert {type(line.pop("time_ms")) for line in java + python} == {int}
    assert java == python


def test_records_know_what_was_consumed(tmp_path: Path) -> None:
    """A task that keeps an error of `put` names the offset of the first record that it has refused."""
    jars, refuse, where = compiled("DeferringSink", tmp_path).jars, tmp_path / "refuse", TopicPartition("consumed", 0)
    task = sink_task_class(jars, "DeferringSink$DeferringTask")()
    task.initialize(SinkContext())
    task.start({"file": str(tmp_path / "out"), "refuse": str(refuse)})
    refuse.touch()
    origin: Any = {"original_topic": "consumed", "original_kafka_partition": 0}
    task.put([SinkRecord("renamed", 3, None, None, None, "v", n, **origin) for n in (7, 8)])
    assert task.pre_commit({where: OffsetAndMetadata(9)}) == {where: OffsetAndMetadata(7)}
    with pytest.raises(ConnectError, match="kept"):
        task.put([])


@pytest.mark.parametrize(("delay_ms", "calls"), [("0", [0]), ("60000", [250, 250])])
def test_a_mock_sink_asks_to_be_called_again_and_fails(delay_ms: str, calls: list[int]) -> None:
    """Once its delay has passed. Java's and Python's ask for the same, 0 as well, which counts for nothing."""
    for task in (java_sink(f"{TOOLS}.MockSinkTask"), MockSinkTask()):
        context = SinkContext()
        task.initialize(context)
        task.start({"mock_mode": "task-failure", "delay_ms": delay_ms})
        time.sleep(0.01)  # more than no time has to pass
        fails = pytest.raises(ConnectError, match=r"put of org\..*MockSinkTask|mock_mode=task-failure")
        with fails if delay_ms == "0" else nullcontext():
            task.put([])
        assert context.calls == [("timeout_ms", call) for call in calls]
