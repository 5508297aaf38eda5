# SPDX-License-Identifier: Apache-2.0
"""The sinks that come with headrace, without a worker."""

from __future__ import annotations

import errno
import json
import logging
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.record import SinkRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.sink import OffsetAndMetadata, TopicPartition
from headrace.connectors.file_stream import output_file
from headrace.connectors.file_stream.file_stream_sink import FileStreamSinkConnector, FileStreamSinkTask
from headrace.connectors.testing.verifiable_sink import VerifiableSinkConnector, VerifiableSinkTask

POINT = SchemaBuilder.struct().field("x", Schema.INT32).field("f", Schema.FLOAT32).build()


def record(value: Any, schema: Schema | None = None, offset: int = 0, **more: Any) -> SinkRecord:
    return SinkRecord("t", 0, None, None, schema, value, offset, **more)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


@pytest.fixture
def task(file: Path) -> FileStreamSinkTask:
    task = FileStreamSinkTask()
    task.start({"file": str(file)})
    return task


def test_values_become_lines_as_java_prints_them(task: FileStreamSinkTask, file: Path) -> None:
    struct = Struct(POINT, {"x": 1, "f": 1.5})
    values = ["text", None, b"\x00\xff", 7, True, 1.0, {"a": None}, [1, "b"]]
    task.put([*(record(value) for value in values), record(struct, POINT)])
    assert file.read_bytes() == b"text\nnull\n\x00\xff\n7\ntrue\n1.0\n{a=null}\n[1, b]\nStruct{x=1,f=1.5}\n"


@pytest.mark.parametrize("type", [pa.string(), pa.binary(), pa.large_string()])
def test_tables_become_the_same_lines(task: FileStreamSinkTask, file: Path, type: pa.DataType) -> None:
    values = pa.array(["a", None, "", "é"], type)
    task.put_table(pa.table({"value": values}))
    task.put_table(pa.table({"value": pa.chunked_array([values.slice(1, 2), values.slice(3)])}))
    assert file.read_text() == "a\nnull\n\né\n" + "null\n\né\n"


def test_a_file_is_appended_to(file: Path, task: FileStreamSinkTask) -> None:
    task.put([record("one")])
    task.stop()
    again = FileStreamSinkTask()
    again.start({"file": str(file)})
    again.put([])
    again.put([record("two")])
    assert file.read_text() == "one\ntwo\n"


def test_flush_reaches_the_disk_once(task: FileStreamSinkTask, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    task.flush({})
    task.put([record("x")])
    task.flush({})
    task.flush({})
    assert len(synced) == 1


def test_a_failed_write_leaves_nothing_behind(
    task: FileStreamSinkTask, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task.put([record("before")])
    write = os.write

    def full_after_two_bytes(fd: int, data: Any) -> int:
        if len(data) <= 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, bytes(data[: len(data) - 2]))

    monkeypatch.setattr(os, "write", full_after_two_bytes)
    with pytest.raises(RetriableError, match=r"out.txt' could not be written to: No space left"):
        task.put([record("a line")])
    monkeypatch.setattr(os, "write", write)
    task.put([record("a line")])
    assert file.read_text() == "before\na line\n"


def test_what_will_not_pass_is_not_retriable(tmp_path: Path) -> None:
    task = FileStreamSinkTask()
    with pytest.raises(ConnectError, match="could not be opened: Is a directory") as failed:
        task.start({"file": str(tmp_path)})
    assert not isinstance(failed.value, RetriableError)


def test_without_a_file_it_is_the_standard_output(capfdbinary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdout:
        def fileno(self) -> int:
            return 1

    monkeypatch.setattr(output_file.sys, "stdout", Stdout())
    task = FileStreamSinkTask()
    task.start({})
    task.put([record("x")])
    task.flush({})
    task.stop()
    assert capfdbinary.readouterr().out == b"x\n"


def test_the_connector_has_as_many_tasks_as_allowed() -> None:
    connector = FileStreamSinkConnector()
    connector.start({"file": "f"})
    assert connector.task_configs(3) == [{"file": "f"}] * 3
    assert connector.alter_offsets({}, {TopicPartition("t", 0): 5})


def test_verifiable_sink_reports_records_twice(caplog: pytest.LogCaptureFixture) -> None:
    def reported() -> list[dict[str, Any]]:
        lines = [json.loads(record.message) for record in caplog.records]
        caplog.clear()
        return lines

    caplog.set_level(logging.INFO)
    connector = VerifiableSinkConnector()
    connector.start({"name": "v"})
    task = VerifiableSinkTask()
    task.start(connector.task_configs(2)[1])
    where, other = TopicPartition("t", 0), TopicPartition("t", 1)
    task.put([SinkRecord("routed", 5, None, 3, None, 41, 7, original_topic="t", original_kafka_partition=0)])
    [line] = reported()
    shown = {key: line[key] for key in line if key != "time_ms"}
    assert shown == {"name": "v", "task": 3, "sinkTask": 1, "topic": "routed", "seqno": 41, "offset": 7}
    task.flush({other: OffsetAndMetadata(1)})
    assert reported() == []
    task.flush({where: OffsetAndMetadata(8)})
    [flushed] = reported()
    assert flushed | {"time_ms": 0} == {**line, "flushed": True, "time_ms": 0}
    task.flush({where: OffsetAndMetadata(8)})
    assert reported() == []
    with pytest.raises(ConnectError, match="number as id"):
        VerifiableSinkTask().start({"id": "x"})


def test_a_dry_run_of_the_file_sink_returns_its_lines(file: Path) -> None:
    found = FileStreamSinkConnector().dry_run({"file": str(file)}, [record("text"), record(None), record(b"\xff")])
    assert found.rows == ["text", "null", "\ufffd"] and not file.exists()
