# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.api import arrow
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.lag import Lag, LagUnit
from headrace.api.source import ExactlyOnceSupport
from headrace.connectors.file_stream import followed_file
from headrace.connectors.file_stream.file_stream_source import FileStreamSourceConnector, FileStreamSourceTask
from tests.unit.many_files import beyond_select

Read = list[tuple[str, int | None]]


def append(path: Path, data: str) -> None:
    with path.open("a", newline="") as file:
        file.write(data)


def rows(table: Any) -> Read:
    offsets = [offset["position"] for offset in table.column("source_offset").to_pylist()]
    return list(zip(table.column("value").to_pylist(), offsets, strict=True))


def read(task: FileStreamSourceTask, count: int, seconds: float = 5.0) -> Read:
    """Polls until there are `count` records."""
    found: Read = []
    deadline = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        table = task.poll()
        found += rows(table) if table is not None else []
    return found


def idle(task: FileStreamSourceTask, polls: int = 5) -> bool:
    return all(task.poll() is None for _ in range(polls))


@pytest.fixture
def start(context: Callable[..., Any]) -> Iterator[Callable[..., FileStreamSourceTask]]:
    """Starts a task on a file, from a stored offset, with more properties."""
    started = []

    def make(path: Path | None, stored: dict[str, Any] | None = None, **props: str) -> FileStreamSourceTask:
        task = FileStreamSourceTask()
        task.initialize(context(stored))
        named = {"file": str(path)} if path is not None else {}
        task.start({"name": "lines", "topic": "t", **named, **{key.replace("_", "."): props[key] for key in props}})
        started.append(task)
        return task

    yield make
    for task in started:
        task.stop()
        task.poll()


Start = Callable[..., FileStreamSourceTask]


def test_the_lag_is_the_whole_lines_and_bytes_that_are_no_records_yet(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "f"
    task = start(path, batch_size="1")
    assert task.poll() is None and task.lag() is None
    append(path, "one\ntwo\nunfinished")
    assert read(task, 1) == [("one", 4)]
    assert task.lag() == Lag(LagUnit.BYTES, {str(path): 4})
    assert read(task, 1) == [("two", 8)] and idle(task)
    assert task.lag() == Lag(LagUnit.BYTES, {str(path): 0}), "a line without its end is no record"
    append(path, "...")
    assert task.lag() == Lag(LagUnit.BYTES, {str(path): 3})


def test_a_wakeup_ends_a_poll_that_waits_and_the_next_one_does_not_wait(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_file, "_LONGEST", 60.0)
    path = tmp_path / "f"
    append(path, "one\n")
    task = start(path)
    assert read(task, 1) == [("one", 4)] and idle(task)
    task._waiter._active_at -= 3600  # so that it waits for a minute
    began = time.monotonic()
    threading.Timer(0.1, task.wakeup).start()
    assert task.poll() is None
    append(path, "two\n")
    table = task.poll()
    assert table is not None and rows(table) == [("two", 8)]
    assert time.monotonic() - began < 30


def test_lines_carry_the_columns_of_a_batch(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "f"
    append(path, "one\ntwo\n")
    table = start(path).poll()
    assert table is not None
    arrow.validate_table(table)
    assert table.to_pylist() == [
        {"topic": "t", "source_partition": {"filename": str(path)}, "source_offset": {"position": 4}, "value": "one"},
        {"topic": "t", "source_partition": {"filename": str(path)}, "source_offset": {"position": 8}, "value": "two"},
    ]


def test_it_goes_on_from_the_stored_position(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "f"
    append(path, "one\ntwo\nthree")
    task = start(path, {"position": 4})
    assert read(task, 1) == [("two", 8)]
    assert idle(task)
    append(path, " and a half\n")
    assert read(task, 1) == [("three and a half", 25)]
    assert task.context.offset_storage_reader.asked == [{"filename": str(path)}]  # type: ignore[attr-defined]


def test_a_poll_takes_no_more_than_a_batch_and_a_batch_when_there_is_one(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "f"
    append(path, "".join(f"line {n} {'x' * 200}\n" for n in range(5000)))
    task = start(path, batch_size="2000")
    sizes = [table.num_rows if (table := task.poll()) is not None else 0 for _ in range(4)]
    assert sizes == [2000, 2000, 1000, 0]


def test_nothing_is_lost_or_doubled_by_starting_again_at_any_record(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "f"
    append(path, "a\r\nbé\rc\n\n\r\nlast\n")
    everything = read(start(path), 6)
    assert [text for text, _ in everything] == ["a", "bé", "c", "", "", "last"]
    for done in range(1, 7):
        again = start(path, {"position": everything[done - 1][1]})
        assert read(again, 6 - done) == everything[done:]
        assert idle(again, 2)


def test_a_missing_file_is_waited_for_and_reported_once(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "f"
    with caplog.at_level(logging.INFO):
        task = start(path)
        assert idle(task)
    assert [record.getMessage() for record in caplog.records] == [
        f"file '{path}' of connector lines does not exist (yet); waiting"
    ]
    append(path, "here\n")
    assert read(task, 1) == [("here", 5)]


def test_a_truncated_file_is_read_from_its_start(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "f"
    append(path, "one\ntwo\nthr")
    task = start(path)
    assert read(task, 2) == [("one", 4), ("two", 8)]
    assert idle(task)
    os.truncate(path, 0)
    append(path, "new\n")
    assert read(task, 1) == [("new", 4)]
    assert [record.getMessage() for record in caplog.records] == [
        f"file '{path}' of connector lines is shorter than the 11 bytes read of it: reading it from its start, "
        "without the 3 bytes of an unfinished last line"
    ]
    assert read(start(path, {"position": 5}), 1) == [("new", 4)]


def test_a_replaced_file_is_finished_first(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "f"
    append(path, "one\n")
    task = start(path)
    assert read(task, 1) == [("one", 4)]
    path.rename(tmp_path / "f.1")
    append(path, "new one, much longer\n")
    append(tmp_path / "f.1", "two\nlast without an end")
    assert read(task, 3) == [("two", 8), ("last without an end", 27), ("new one, much longer", 21)]


def test_a_directory_fails_the_task(start: Start, tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="it is a directory"):
        start(tmp_path).poll()


@pytest.mark.parametrize("stored", [{"position": "4"}, {"position": 1.0}, {"position": True}, {"position": -1}])
def test_an_offset_that_means_nothing_fails_the_task(start: Start, tmp_path: Path, stored: dict[str, Any]) -> None:
    with pytest.raises(ConnectError, match="position"):
        start(tmp_path / "f", stored)


def test_a_stored_null_position_is_the_start(start: Start, tmp_path: Path) -> None:
    append(tmp_path / "f", "x\n")
    assert read(start(tmp_path / "f", {"position": None}), 1) == [("x", 2)]


@pytest.mark.parametrize("props", [{}, {"file": "-"}, {"file": ""}])
def test_without_a_file_it_reads_the_standard_input(
    start: Start, monkeypatch: pytest.MonkeyPatch, props: dict[str, str]
) -> None:
    readable, writable = os.pipe()
    with os.fdopen(readable) as stdin, os.fdopen(writable, "wb") as source:
        monkeypatch.setattr("sys.stdin", stdin)
        task = start(None, **props)
        assert idle(task, 2)
        source.write(b"typed\n")
        source.flush()
        assert read(task, 1) == [("typed", None)]
        source.close()
        assert idle(task, 2) and task.lag() is None


def test_the_standard_input_may_be_any_file_of_many(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with beyond_select():
        readable, writable = os.pipe()
        with os.fdopen(readable) as stdin, os.fdopen(writable, "wb") as source:
            monkeypatch.setattr("sys.stdin", stdin)
            task = start(None)
            source.write(b"typed\n")
            source.flush()
            assert read(task, 1) == [("typed", None)]


def test_stop_ends_a_poll_at_once_and_all_that_follow(start: Start, tmp_path: Path) -> None:
    task = start(tmp_path / "f")
    threading.Timer(0.01, task.stop).start()
    deadline = time.monotonic() + 5
    while task.poll() is None and not task._waiter.woken:
        assert time.monotonic() < deadline
    append(tmp_path / "f", "too late\n")
    begun = time.monotonic()
    assert idle(task, 100)
    assert time.monotonic() - begun < 1


def test_a_poll_that_finds_nothing_returns_soon(start: Start, tmp_path: Path) -> None:
    append(tmp_path / "f", "")
    task = start(tmp_path / "f")
    longest = 0.0
    for _ in range(5):
        begun = time.process_time(), time.monotonic()
        task.poll()
        longest = max(longest, time.monotonic() - begun[1])
        assert time.process_time() - begun[0] < 0.05
    assert longest < 0.2


def test_the_connector_has_one_task_with_its_own_properties() -> None:
    connector = FileStreamSourceConnector()
    props = {"name": "c", "topic": "t", "file": "f"}
    connector.start(props)
    assert connector.task_class() is FileStreamSourceTask
    assert connector.task_configs(10) == [props]
    connector.stop()


def test_exactly_once_needs_a_file() -> None:
    connector = FileStreamSourceConnector()
    assert connector.exactly_once_support({"file": "f"}) is ExactlyOnceSupport.SUPPORTED
    for props in ({}, {"file": ""}, {"file": "-"}):
        assert connector.exactly_once_support(props) is ExactlyOnceSupport.UNSUPPORTED


@pytest.mark.parametrize(
    ("props", "wrong"),
    [
        ({"topic": "t"}, []),
        ({"file": "f"}, ["topic"]),
        ({"topic": ""}, ["topic"]),
        ({"topic": "t", "batch.size": "many"}, ["batch.size"]),
        ({"topic": "t", "batch.size": "0"}, ["batch.size"]),
    ],
)
def test_validation_names_what_is_wrong(props: dict[str, str], wrong: list[str]) -> None:
    values = FileStreamSourceConnector().validate(props)
    assert [value.name for value in values if value.error_messages] == wrong


def test_a_task_without_a_topic_is_refused(start: Start, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="topic"):
        start(tmp_path / "f", topic="")


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"filename": "f"}, {}),
        ({"filename": "f"}, {"position": None}),
        ({"filename": "f"}, {"position": "7"}),
        ({"filename": "f"}, {"position": -1}),
        ({"filename": "f"}, {"position": 7.0}),
        ({"file": "f"}, {"position": 7}),
        ({}, {"position": 7}),
    ],
)
def test_offsets_that_no_task_could_use_are_refused(partition: dict[str, Any], offset: dict[str, Any]) -> None:
    with pytest.raises(ConnectError):
        FileStreamSourceConnector().alter_offsets({"file": "f"}, [(partition, offset)])


def test_good_offsets_and_resets_of_whatever_are_accepted() -> None:
    offsets: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
        ({"filename": "f"}, {"position": 0}),
        ({"filename": "other"}, {"position": 7}),
        ({"rubbish": 1}, None),
    ]
    assert FileStreamSourceConnector().alter_offsets({"file": "f"}, offsets)


def test_the_standard_input_has_no_offsets_to_alter() -> None:
    with pytest.raises(ConnectError, match="standard input"):
        FileStreamSourceConnector().alter_offsets({}, [({"filename": "f"}, None)])
