# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema
from headrace.connectors.testing import verifiable_source
from headrace.connectors.testing.verifiable_source import (
    COMPLETE_VALUE_SCHEMA,
    VerifiableSourceConnector,
    VerifiableSourceTask,
)

Start = Callable[..., VerifiableSourceTask]


@pytest.fixture
def start(context: Callable[..., Any]) -> Start:
    def make(stored: dict[str, Any] | None = None, **props: str) -> VerifiableSourceTask:
        task = VerifiableSourceTask()
        task.initialize(context(stored))
        task.start({"name": "v", "topic": "t", "id": "3", **{key.replace("_", "."): props[key] for key in props}})
        return task

    return make


def read(task: VerifiableSourceTask, seconds: float) -> list[SourceRecord]:
    found: list[SourceRecord] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found += task.poll() or []
    return found


def test_records_are_numbered_without_a_gap(start: Start) -> None:
    task = start()
    records = (task.poll() or []) + (task.poll() or [])
    assert records[0] == SourceRecord({"id": 3}, {"seqno": 0}, "t", None, Schema.INT32, 3, Schema.INT64, 0)
    assert [record.value for record in records] == list(range(len(records)))
    assert all(record.source_offset == {"seqno": record.value} for record in records)


def test_it_goes_on_after_the_stored_number(start: Start) -> None:
    task = start({"seqno": 41})
    assert (task.poll() or [])[0].value == 42


def test_complete_record_data_is_a_struct(start: Start) -> None:
    record = (start(complete_record_data="true", throughput="1").poll() or [])[0]
    assert record.value_schema == COMPLETE_VALUE_SCHEMA
    value = record.value.as_dict()
    assert abs(value.pop("time_ms") - time.time() * 1000) < 5000
    assert value == {"name": "v", "task": 3, "topic": "t", "seqno": 0}


def test_the_rate_is_kept(start: Start) -> None:
    begun = time.monotonic()
    records = read(start(throughput="200"), 0.5)
    assert 70 <= len(records) <= 200 * (time.monotonic() - begun) + 3


def test_no_throughput_gives_nothing_and_stop_ends_the_wait(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    task = start(throughput="0")
    assert task.poll() is None
    monkeypatch.setattr(verifiable_source, "LONGEST_WAIT", 60.0)
    threading.Timer(0.01, task.stop).start()
    begun = time.monotonic()
    assert task.poll() is None and task.poll() is None
    assert time.monotonic() - begun < 30


def test_a_wakeup_ends_a_wait_for_the_next_record(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifiable_source, "LONGEST_WAIT", 60.0)
    task = start(throughput="0")
    threading.Timer(0.1, task.wakeup).start()
    begun = time.monotonic()
    assert task.poll() is None
    assert time.monotonic() - begun < 30


def test_each_task_has_its_own_id() -> None:
    connector = VerifiableSourceConnector()
    connector.start({"name": "v", "topic": "t"})
    assert connector.task_class() is VerifiableSourceTask
    assert connector.task_configs(2) == [{"name": "v", "topic": "t", "id": str(task)} for task in range(2)]


def test_bad_properties_and_offsets_are_named(start: Start) -> None:
    values = VerifiableSourceConnector().validate({"throughput": "fast", "complete.record.data": "perhaps"})
    assert [value.name for value in values if value.error_messages] == ["topic", "throughput", "complete.record.data"]
    with pytest.raises(ConfigError, match="throughput"):
        start(throughput="fast")
    with pytest.raises(ConnectError, match="'x'"):
        start(id="x")
    with pytest.raises(ConnectError, match="'seqno'"):
        start({"seqno": "1"})
