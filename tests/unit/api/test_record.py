# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pickle

from headrace.api.headers import Header, Headers
from headrace.api.record import SinkRecord, SourceRecord, TimestampType
from headrace.api.schema import Schema


def source_record() -> SourceRecord:
    return SourceRecord({"file": "a"}, {"position": 1}, "lines", 0, None, None, Schema.STRING, "text", 5)


def test_headers_come_into_being_when_asked_for() -> None:
    record = source_record()
    assert not record.has_headers
    record.headers.add_string("k", "v")
    assert record.has_headers and record.headers.last_with_name("k") == Header("k", "v", Schema.STRING)


def test_a_new_record_keeps_its_origin_and_copies_headers() -> None:
    record = source_record()
    record.headers.add_long("n", 1)
    other = record.new_record("t", 1, None, "key", None, b"value", 6)
    other.headers.add_long("n", 2)
    assert (other.source_partition, other.source_offset) == ({"file": "a"}, {"position": 1})
    assert (other.topic, other.kafka_partition, other.key, other.value, other.timestamp) == ("t", 1, "key", b"value", 6)
    assert len(record.headers) == 1 and len(other.headers) == 2
    assert not record.new_record("t", 1, None, None, None, None, None, Headers()).has_headers


def test_replace_changes_only_what_is_given() -> None:
    record = source_record()
    assert record.replace(value=None, value_schema=None) == SourceRecord(
        {"file": "a"}, {"position": 1}, "lines", 0, timestamp=5
    )
    assert record.replace() == record and record.replace() is not record


def test_equality_looks_at_everything() -> None:
    record = source_record()
    for changes in ({"topic": "x"}, {"value": "x"}, {"timestamp": None}, {"headers": Headers().add("a", 1)}):
        assert record.replace(**changes) != record
    assert record == pickle.loads(pickle.dumps(record))
    record.headers  # noqa: B018 - made, but empty
    assert record == source_record()
    assert record != SinkRecord("lines", 0, None, None, Schema.STRING, "text", 5)


def test_a_sink_record_remembers_where_it_was() -> None:
    record = SinkRecord("a", 1, None, None, None, "v", 7, 5, TimestampType.CREATE_TIME)
    moved = record.replace(topic="b", kafka_partition=2)
    assert (moved.original_topic, moved.original_kafka_partition, moved.original_kafka_offset) == ("a", 1, 7)
    assert (moved.topic, moved.kafka_partition, moved.kafka_offset) == ("b", 2, 7)
    assert moved.timestamp_type is TimestampType.CREATE_TIME and moved != record


def test_with_key_and_with_value_change_that_and_nothing_else() -> None:
    for record in (source_record(), SinkRecord("a", 1, None, None, None, "v", 7, 5, TimestampType.CREATE_TIME)):
        record.headers.add("h", 1, None)
        assert record.with_value(Schema.INT32, 5) == record.replace(value_schema=Schema.INT32, value=5)
        assert record.with_key(Schema.INT32, 5) == record.replace(key_schema=Schema.INT32, key=5)
        record.with_value(None, None).headers.add("another", 2, None)
        assert len(record.headers) == 1
