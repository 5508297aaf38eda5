# SPDX-License-Identifier: Apache-2.0
"""Records from Python to Java and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import DataError
from headrace.api.headers import Headers
from headrace.api.record import SinkRecord, SourceRecord, TimestampType
from headrace.api.schema import Schema
from headrace.java.columns_to_records import java_sink_records, java_source_records
from headrace.java.data import java_value
from headrace.java.jvm import java_class
from headrace.java.records import java_sink_record, java_source_record, python_sink_record, python_source_record
from tests.java.connect_data import polled

FLAT = st.dictionaries(st.text(), st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text())
HEADERS = st.lists(st.tuples(st.text(), st.integers(-(2**31), 2**31 - 1)), max_size=3).map(
    lambda pairs: Headers().add("none", None) if not pairs else _headers(pairs)
)


def _headers(pairs: list[tuple[str, int]]) -> Headers:
    headers = Headers()
    for name, value in pairs:
        headers.add_int(name, value).add(name, value)
    return headers


@given(st.none() | FLAT, st.none() | FLAT, st.none() | st.integers(0, 100), st.none() | st.integers(0, 2**62), HEADERS)
def test_source_records(
    origin: dict[str, object] | None,
    offset: dict[str, object] | None,
    partition: int | None,
    timestamp: int | None,
    headers: Headers,
) -> None:
    record = SourceRecord(
        origin, offset, "t", partition, Schema.STRING, "k", Schema.OPTIONAL_INT64, 5, timestamp, headers
    )
    assert python_source_record(java_source_record(record)) == record


@given(st.integers(0, 2**62), st.sampled_from(TimestampType), HEADERS)
def test_sink_records(offset: int, kind: TimestampType, headers: Headers) -> None:
    record = SinkRecord("t", 3, None, None, None, {"a": [1, 2]}, offset, 7, kind, headers, "before", 4, offset + 1)
    assert python_sink_record(java_sink_record(record)) == record


def test_a_record_as_java_compares_it() -> None:
    offset = java_value(None, {"lsn": 2**62, "snapshot": "true", "txId": None})
    java = java_class("org.apache.kafka.connect.source.SourceRecord")
    partition = java_value(None, {"server": "db"})
    first = java(partition, offset, "t", None, None, None, None, java_value(None, {"a": 1}))
    record = python_source_record(first)
    assert (record.source_partition, record.source_offset) == (
        {"server": "db"},
        {"lsn": 2**62, "snapshot": "true", "txId": None},
    )
    assert not record.has_headers
    assert java_source_record(record).equals(first)


def test_a_tombstone() -> None:
    record = SourceRecord({"a": 1}, {"b": 2}, "t", key_schema=Schema.STRING, key="gone")
    java = java_source_record(record)
    assert java.value() is None and java.valueSchema() is None
    assert python_source_record(java) == record


def test_a_sink_record_needs_a_partition() -> None:
    with pytest.raises(DataError, match="needs a Kafka partition"):
        java_sink_record(SinkRecord("t", None, None, None, None, 1, 0))


@given(polled())
def test_source_records_as_columns(records: list[SourceRecord]) -> None:
    made = java_source_records(records)
    assert [repr(python_source_record(each)) for each in made] == [
        repr(python_source_record(java_source_record(each))) for each in records
    ]


@given(polled(), st.sampled_from(TimestampType))
def test_sink_records_as_columns(records: list[SourceRecord], kind: TimestampType) -> None:
    consumed = [
        SinkRecord(
            *(each.topic or "t", number, each.key_schema, each.key, each.value_schema, each.value),
            *(2**40 + number, each.timestamp, kind, each.headers, "before", number + 1, number),
        )
        for number, each in enumerate(records)
    ]
    made = java_sink_records(consumed)
    assert [repr(python_sink_record(each)) for each in made] == [
        repr(python_sink_record(java_sink_record(each))) for each in consumed
    ]
    with pytest.raises(DataError, match="needs a Kafka partition"):
        java_sink_records([*consumed, SinkRecord("t", None, None, None, None, 1, 0)])
