# SPDX-License-Identifier: Apache-2.0
"""SingerSink with real processes: a target that writes to a file, and has bad habits."""

from __future__ import annotations

import datetime
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from headrace.api.errors import ConnectError, DataError, RetriableError
from headrace.api.record import SinkRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.sink import OffsetAndMetadata, TopicPartition
from headrace.connectors.singer.singer_sink import SingerSinkConnector, SingerSinkTask
from headrace.connectors.singer.target_messages import TargetStreams, acknowledged, state_line
from tests.support.polling import wait_for

ORDERS = TopicPartition("orders", 0)
TARGET = """
import json, sys, time
config = json.load(open(sys.argv[2]))
habit = config.get("habit")
if habit == "dies":
    sys.exit("no such database")
if habit == "reads nothing":
    time.sleep(3600)
state, rows = None, 0
with open(config["file"], "a") as file:
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "RECORD":
            rows += 1
            if habit == "dies later" and rows > 3:
                sys.exit("the disk is full")
            file.write(json.dumps(message["record"]) + "\\n")
        elif message["type"] == "STATE":
            state = message["value"]
            file.flush()
            if habit == "eager":
                print(json.dumps(state), flush=True)
if habit == "never ends":
    time.sleep(3600)
if state is not None and habit != "no state":
    print(json.dumps(state), flush=True)
"""
ORDER = (
    SchemaBuilder.struct()
    .field("id", Schema.INT32)
    .field("price", SchemaBuilder.decimal(2).build())
    .field("time", SchemaBuilder.timestamp().optional().build())
    .field("day", Schema.OPTIONAL_DATE)
    .field("raw", Schema.OPTIONAL_BYTES)
    .field("tags", SchemaBuilder.array(Schema.STRING).build())
    .field("more", SchemaBuilder.map(Schema.STRING, Schema.FLOAT64).optional().build())
    .build()
)
KEY = SchemaBuilder.struct().field("id", Schema.INT32).build()


def record(value: Any, offset: int, topic: str = "orders", **more: Any) -> SinkRecord:
    return SinkRecord(topic, 0, None, more.pop("key", None), None, value, offset, **more)


def at(offset: int) -> dict[TopicPartition, OffsetAndMetadata]:
    return {ORDERS: OffsetAndMetadata(offset)}


Start = Callable[..., SingerSinkTask]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows"


@pytest.fixture
def start(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = tmp_path / "target.py"
    script.write_text(TARGET)
    tasks = []

    def make(habit: str = "", reporter: Any = None, **props: str) -> SingerSinkTask:
        task = SingerSinkTask()
        task.initialize(SimpleNamespace(errant_record_reporter=reporter))  # type: ignore[arg-type]
        config = json.dumps({"file": str(file), "habit": habit})
        task.start(
            {
                "singer.command": f"{sys.executable} {script}",
                "singer.config": config,
                **{name.replace("_", "."): value for name, value in props.items()},
            }
        )
        tasks.append(task)
        return task

    yield make
    for task in tasks:
        task.stop()

    def left() -> list[Any]:
        lines = [" ".join(each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"])]
        return [line for line in lines if str(tmp_path) in line] + list(tmp_path.glob("headrace-singer-*"))

    wait_for(lambda: not left(), 20, lambda: f"the end of {left()}")


def rows(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_offsets_are_committed_when_the_target_has_ended(start: Start, file: Path) -> None:
    task = start()
    task.put([record({"id": n}, n) for n in range(3)])
    assert task.pre_commit(at(3)) == at(3)
    assert rows(file) == [{"id": 0}, {"id": 1}, {"id": 2}]
    task.put([record({"id": 3}, 3)])
    assert task.pre_commit(at(4)) == at(4)
    assert rows(file)[3:] == [{"id": 3}]
    assert task.pre_commit(at(4)) == at(4)


def test_offsets_that_the_target_acknowledges_meanwhile(start: Start, file: Path) -> None:
    task = start("eager", singer_flush="state")
    task.put([record({"id": n}, n) for n in range(3)])
    first = task.pre_commit(at(3))
    assert first in ({}, at(3))
    wait_for(lambda: (task.put([]), task.pre_commit(at(3)))[1] == at(3), 20, "the acknowledgement")
    assert len(rows(file)) == 3


def test_offsets_that_it_never_acknowledges_are_not_committed(start: Start) -> None:
    task = start(singer_flush="state")
    task.put([record({"id": 1}, 0)])
    assert task.pre_commit(at(1)) == {}
    task.put([record({"id": 2}, 1)])
    assert task.pre_commit(at(2)) == {}


def test_a_target_that_dies_with_what_it_was_given(start: Start) -> None:
    task = start("dies later")
    task.put([record({"id": n}, n) for n in range(3)])

    def failed() -> bool:
        try:
            task.put([record({"id": 9}, 9)])
        except ConnectError as error:
            return "ended with code 1; it said: the disk is full" in str(error)
        return False

    wait_for(failed, 30, "the target's end to be noticed")
    assert task.pre_commit(at(3)) == {}
    with pytest.raises(ConnectError, match="the disk is full"):
        task.put([])


def test_a_target_that_dies_before_it_acknowledges(start: Start) -> None:
    task = start("dies later", singer_retries="1")
    for _ in range(2):
        task.put([record({"id": n}, n) for n in range(5)][:3])
        task._running().write(b'{"type": "RECORD", "stream": "orders", "record": {}}\n')
        with pytest.raises(ConnectError, match="ended with code 1; it said: the disk is full"):
            task.pre_commit(at(4))
    with pytest.raises(ConnectError, match=r"flush 2 in a row that failed; singer\.retries=1"):
        task.put([])


@pytest.mark.parametrize(
    ("habit", "text"),
    [
        ("never ends", "has not ended 0.5 s after its input"),
        ("no state", "has ended without a STATE"),
        ("dies", "ended with code 1; it said: no such database"),
    ],
)
def test_bad_habits(start: Start, habit: str, text: str) -> None:
    task = start(habit, **{"singer_flush_timeout_ms": "500"} if habit == "never ends" else {})
    with pytest.raises(ConnectError, match=text):
        task.put([record({"id": 1}, 0)])
        task.pre_commit(at(1))


def test_a_target_that_reads_nothing(start: Start) -> None:
    task = start("reads nothing", singer_flush_timeout_ms="500")
    large = "x" * (1 << 20)
    with pytest.raises(ConnectError, match="has read nothing for"):
        task.put([record({"id": large}, n) for n in range(5)])


@pytest.mark.parametrize(("value", "text"), [("text", "but str"), ({1: 2}, "but dict"), ({"a": math.nan}, "no number")])
def test_records_that_no_target_can_have(start: Start, value: Any, text: str) -> None:
    with pytest.raises(DataError, match=f"orders-0 at offset 7 cannot be written: .*{text}"):
        start().put([record(value, 7)])
    reported: list[Any] = []
    reporter = SimpleNamespace(report=lambda record, error: reported.append((record.kafka_offset, str(error))))
    task = start(reporter=reporter)
    task.put([record(value, 7), record({"id": 1}, 8)])
    assert task.pre_commit(at(9)) == at(9)
    assert [offset for offset, _ in reported] == [7]


def test_tombstones(start: Start) -> None:
    with pytest.raises(DataError, match=r"tombstone \(singer.tombstones=fail\)"):
        start().put([record(None, 0)])
    ignoring = start(singer_tombstones="ignore")
    ignoring.put([record(None, 0)])
    assert ignoring.pre_commit(at(1)) == at(1)


def test_lines_of_structs() -> None:
    day = datetime.date(2024, 2, 29)
    fields = {
        "id": 1,
        "price": Decimal("10.10"),
        "time": datetime.datetime(2024, 2, 29, 1, 2, 3),
        "day": day,
        "raw": b"\xff",
        "tags": ["a"],
        "more": {"x": 0.5},
    }
    value, key = Struct(ORDER, fields), Struct(KEY, {"id": 1})
    streams = TargetStreams({"orders": "shop-orders"})
    lines = streams.lines(record(value, 0, key=key, timestamp=0))
    schema, row = (json.loads(line, parse_float=Decimal) for line in lines)
    assert schema == {
        "type": "SCHEMA",
        "stream": "shop-orders",
        "key_properties": ["id"],
        "schema": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "price": {"type": "number", "multipleOf": Decimal("0.01")},
                "time": {"type": ["string", "null"], "format": "date-time"},
                "day": {"type": ["string", "null"], "format": "date"},
                "raw": {"type": ["string", "null"], "contentEncoding": "base64"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "more": {"type": ["object", "null"], "additionalProperties": {"type": "number"}},
            },
        },
    }
    assert row == {
        "type": "RECORD",
        "stream": "shop-orders",
        "time_extracted": "1970-01-01T00:00:00+00:00",
        "record": {
            "id": 1,
            "price": Decimal("10.10"),
            "time": "2024-02-29T01:02:03+00:00",
            "day": "2024-02-29",
            "raw": "/w==",
            "tags": ["a"],
            "more": {"x": Decimal("0.5")},
        },
    }
    assert '"price": 10.10' in lines[1]
    assert len(streams.lines(record(value, 1, key=key))) == 1
    assert len(streams.lines(record(value, 2))) == 2  # without the key


def test_schemas_of_maps_grow() -> None:
    streams = TargetStreams({})

    def properties(value: Any) -> Any:
        lines = streams.lines(record(value, 0))
        return json.loads(lines[0])["schema"]["properties"] if len(lines) == 2 else None

    assert properties({"a": 1, "b": None}) == {"a": {"type": ["integer", "null"]}, "b": {"type": ["string", "null"]}}
    assert properties({"a": 2}) is None
    assert properties({"a": 0.5, "c": [1]})["a"] == {"type": ["integer", "number", "null"]}
    assert properties({"b": {"x": 1}, "c": None})["b"] == {"type": ["object", "null"]}
    assert properties({"a": 2, "b": {}, "c": []}) is None


def test_states() -> None:
    offsets = {TopicPartition("a-b", 3): OffsetAndMetadata(5)}
    value = json.loads(state_line(offsets))["value"]
    assert acknowledged(json.dumps(value).encode()) == offsets
    for line in (b"", b"{}", b"x", b'{"bookmarks": 1}', b'{"bookmarks": {"headrace": {"a": "b"}}}'):
        assert acknowledged(line) == {}


def test_mistakes_in_the_configuration() -> None:
    def errors(**props: str) -> list[str]:
        return [error for value in SingerSinkConnector().validate(props) for error in value.error_messages]

    assert "set it to the command line of a target" in errors()[0]
    assert "not of the form topic:stream" in errors(target="target-x", **{"topic.streams": "a"})[0]
    assert errors(target="target-x") == []
    assert SingerSinkConnector().alter_offsets({}, {ORDERS: 5})


def test_a_flush_that_may_succeed_later_is_retriable(start: Start) -> None:
    task = start("dies")
    task.put([])
    task._running()
    with pytest.raises(ConnectError) as caught:
        task._child.close_input()  # type: ignore[union-attr]
        task._end_target()
    assert isinstance(caught.value, RetriableError)


def test_what_partitions_that_are_kept_have_written_is_not_lost_with_the_target(start: Start) -> None:
    """The runtime asks about partitions that are revoked alone, and rewinds no others when that fails."""
    task = start("no state")
    task.put([record({"id": 1}, 0), record({"id": 2}, 0, topic="kept")])
    kept = TopicPartition("kept", 0)
    with pytest.raises(ConnectError, match="without a STATE"):
        task.pre_commit(at(1))
    task.close([ORDERS])
    assert task.pre_commit({kept: OffsetAndMetadata(1)}) == {}
    with pytest.raises(ConnectError, match="without a STATE"):
        task.put([])
