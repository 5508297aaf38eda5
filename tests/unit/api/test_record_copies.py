# SPDX-License-Identifier: Apache-2.0
"""The quick ways to derive a record."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.headers import Headers
from headrace.api.record import ConnectRecord, SinkRecord, SourceRecord, TimestampType
from headrace.api.schema import Schema

COMMON: dict[str, Any] = {
    "topic": "t",
    "kafka_partition": 3,
    "key_schema": Schema.STRING,
    "key": "k",
    "value_schema": Schema.INT64,
    "value": 5,
    "timestamp": 7,
}


def source() -> SourceRecord:
    return SourceRecord({"p": 1}, {"o": 2}, headers=Headers().add_string("h", "v"), **COMMON)


def sink() -> SinkRecord:
    return SinkRecord(
        kafka_offset=9,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        headers=Headers().add_string("h", "v"),
        original_topic="first",
        original_kafka_partition=4,
        original_kafka_offset=8,
        **COMMON,
    )


@pytest.fixture(params=[source, sink])
def record(request: pytest.FixtureRequest) -> ConnectRecord:
    made: ConnectRecord = request.param()
    return made


def test_they_differ_in_nothing_else(record: ConnectRecord) -> None:
    assert record.with_topic("u") == record.replace(topic="u")
    assert record.with_key(None, 1) == record.replace(key_schema=None, key=1)
    assert record.with_value(None, 1) == record.replace(value_schema=None, value=1)
    assert record.with_headers(Headers().add_int("i", 1)) == record.replace(headers=Headers().add_int("i", 1))
    assert type(record.with_topic("u")) is type(record)


@pytest.mark.parametrize("headers", [None, Headers(), Headers().add_string("h", "v")])
def test_headers_are_the_copys_own(record: ConnectRecord, headers: Headers | None) -> None:
    record = record.replace(headers=headers.duplicate()) if headers is not None else record.with_headers(Headers())
    before = len(record.headers)
    for copy in (record.with_topic("u"), record.with_key(None, 1), record.with_value(None, 1), record.replace()):
        copy.headers.add_string("new", "x")
        assert len(copy.headers) == before + 1
    assert len(record.headers) == before
