# SPDX-License-Identifier: Apache-2.0
"""From messages of the client to records and tables; nothing connects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import Message

from headrace.api.converter import SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.headers import Header
from headrace.api.record import SinkRecord, TimestampType
from headrace.api.schema import Schema
from headrace.api.sink import TopicPartition
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.converters.byte_array_converter import ByteArrayConverter
from headrace.converters.json_converter import JsonConverter
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.converters.string_converter import StringConverter
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.errors.retry_with_tolerance import ToleranceExceededError
from headrace.task.sink.sink_record_converter import HeadersReader, Reader, SinkRecordConverter
from headrace.task.transformation_chain import create_transformation_chain


def message(offset: int, value: bytes | None, **more: Any) -> Message:
    fields = {"topic": "t", "partition": 1, "key": None, "timestamp": (1, 1000 + offset), **more}
    return Message(offset=offset, value=value, **fields)


class WithHeaders(StringConverter):
    def to_connect_data_with_headers(
        self, topic: str, headers: Mapping[str, bytes | None], value: bytes | None
    ) -> SchemaAndValue:
        return SchemaAndValue(None, (headers.get("h"), value))


class Strict(StringConverter):
    """Refuses nulls."""

    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        if value is None:
            raise DataError("null")
        return super().to_connect_data(topic, value)


@pytest.fixture
def make(errors: Any, plugins: Plugins) -> Any:
    def make(value: Any = None, key: Any = None, tolerates: bool = True, **config: str) -> SinkRecordConverter:
        handling = errors(tolerates=tolerates)
        converter = value or StringConverter()
        if isinstance(converter, JsonConverter):
            converter.configure({"schemas.enable": "false"}, False)
        props = {"name": "c", "connector.class": "C", "topics": "t", **config}
        return SinkRecordConverter(
            Reader(Operation(Stage.KEY_CONVERTER, "Key"), key or StringConverter()),
            Reader(Operation(Stage.VALUE_CONVERTER, "Value"), converter),
            HeadersReader(Operation(Stage.HEADER_CONVERTER, "Headers"), SimpleHeaderConverter()),
            create_transformation_chain(SinkConnectorConfig(props), plugins, handling),
            handling,
            reportable=True,
        )

    return make


def test_records_have_all_that_messages_have(make: Any) -> None:
    first = message(5, b"v", key=b"k", headers=[("h", b"7"), ("h", None)])
    second = message(6, None, timestamp=(2, 9))
    third = message(7, b"w", timestamp=(0, -1))
    records = make().records(ConsumedMessages([first, second, third]))
    assert [(r.key, r.value, r.kafka_offset, r.timestamp, r.timestamp_type) for r in records] == [
        ("k", "v", 5, 1005, TimestampType.CREATE_TIME),
        (None, None, 6, 9, TimestampType.LOG_APPEND_TIME),
        (None, "w", 7, None, TimestampType.NO_TIMESTAMP_TYPE),
    ]
    assert list(records[0].headers) == [Header("h", 7, Schema.INT8), Header("h", None, None)]
    assert not records[1].has_headers
    assert {(r.topic, r.kafka_partition) for r in records} == {("t", 1)}


def test_null_keys_of_a_topic_are_as_the_converter_reads_them(make: Any) -> None:
    records = make().records(ConsumedMessages([message(0, b"a"), message(1, b"b")]))
    assert {(r.key_schema, r.key) for r in records} == {(Schema.OPTIONAL_STRING, None)}


def test_rows_that_fail_are_reported_once_and_left_out(make: Any, errors: Any) -> None:
    messages = [message(0, b"1"), message(1, b"{", key=b"k", headers=[("h", b"x")]), message(2, b"3")]
    records = make(JsonConverter()).records(ConsumedMessages(messages))
    assert [(r.kafka_offset, r.value) for r in records] == [(0, 1), (2, 3)]
    [context] = errors.reported
    original = context.original
    assert (original.topic, original.partition, original.offset, original.key, original.value) == (
        "t",
        1,
        1,
        b"k",
        b"{",
    )
    assert (list(original.headers), original.timestamp) == ([("h", b"x")], 1001)
    assert (context.operation.stage, context.tolerated) == (Stage.VALUE_CONVERTER, True)


def test_a_row_that_fails_in_its_key_is_not_tried_further(make: Any, errors: Any) -> None:
    messages = ConsumedMessages([message(0, b"{"), message(1, b"1", key=b"k")])
    assert [r.kafka_offset for r in make(JsonConverter(), Strict()).records(messages)] == [1]
    assert [context.operation.stage for context in errors.reported] == [Stage.KEY_CONVERTER]
    assert make(JsonConverter(), Strict()).records(ConsumedMessages([message(0, b"1")])) == []


def test_nothing_is_tolerated_by_default(make: Any) -> None:
    with pytest.raises(ToleranceExceededError, match="topic t, partition 1, offset 4"):
        make(JsonConverter(), tolerates=False).records(ConsumedMessages([message(4, b"{")]))


def test_transformed_records_know_where_they_came_from(make: Any) -> None:
    route = {"transforms": "r", "transforms.r.type": "RegexRouter"}
    route |= {"transforms.r.regex": ".*", "transforms.r.replacement": "u"}
    converter = make(**route)
    [record] = converter.records(ConsumedMessages([message(3, b"v", key=b"k")]))
    assert (record.topic, record.original_topic, record.original_kafka_partition) == ("u", "t", 1)
    original = converter.original(record)
    assert (original.topic, original.offset, original.key, original.value) == ("t", 3, b"k", b"v")
    changed = record.new_record("x", None, None, None, None, "new", None)
    assert converter.original(changed).value == b"v"


def test_a_record_that_the_task_made_is_converted_back(make: Any) -> None:
    record = SinkRecord("t", 0, None, "k", None, "v", 7, 5, TimestampType.CREATE_TIME)
    record.headers.add("h", 1, Schema.INT8)
    original = make().original(record)
    assert (original.key, original.value, original.offset, original.headers) == (b"k", b"v", 7, [("h", b"1")])


def test_converters_that_read_headers_get_them(make: Any) -> None:
    messages = ConsumedMessages([message(0, b"v", headers=[("h", b"1"), ("h", b"2")]), message(1, b"w")])
    assert [r.value for r in make(WithHeaders()).records(messages)] == [(b"2", b"v"), (None, b"w")]
    assert make(WithHeaders()).table(messages, {"value"}) is None


def test_tables_have_the_columns_that_are_asked_for(make: Any) -> None:
    messages = ConsumedMessages([message(5, b"v", key=b"k"), message(6, None, timestamp=(0, -1))])
    everything = {"value", "key", "topic", "partition", "offset", "timestamp"}
    assert make().table(messages, everything).to_pydict() == {
        "key": ["k", None],
        "value": ["v", None],
        "topic": ["t", "t"],
        "partition": [1, 1],
        "offset": [5, 6],
        "timestamp": [1005, None],
    }
    assert make(ByteArrayConverter()).table(messages, {"value"}).to_pydict() == {"value": [b"v", None]}


def test_no_table_where_records_are_needed(make: Any) -> None:
    bad = ConsumedMessages([message(0, b"\xff")])
    assert make().table(bad, {"value"}) is None
    assert [r.value for r in make().records(bad)] == ["\ufffd"]
    assert make(JsonConverter()).table(ConsumedMessages([message(0, b"1")]), {"value"}) is None
    two = ConsumedMessages([message(0, b"1"), message(0, b"1", topic="u")])
    assert make().table(two, {"value"}) is None
    drop = {"transforms": "d", "transforms.d.type": "DropHeaders", "transforms.d.headers": "h"}
    assert make(**drop).table(ConsumedMessages([message(0, b"1")]), {"value"}) is None


def test_bounds_and_choices_of_messages() -> None:
    messages = ConsumedMessages(
        [message(5, b""), message(9, b"", partition=2), message(6, b""), message(0, b"", topic="u")]
    )
    a, b, c = TopicPartition("t", 1), TopicPartition("t", 2), TopicPartition("u", 1)
    assert messages.bounds() == ({a: 5, b: 9, c: 0}, {a: 7, b: 10, c: 1})
    assert messages.within({a, c}).offsets == [5, 6, 0]
    assert messages.within({a, b, c}) is messages
    assert ConsumedMessages([]).mean_size() is None
    assert ConsumedMessages([message(1, b"1234", key=b"k"), message(2, None)]).mean_size() == 2.5
    known = ConsumedMessages([message(5, b""), message(8, b"")], "t", 1)
    assert known.bounds() == ({a: 5}, {a: 9})
    assert (known.topics, known.partitions, known.of_one_topic) == (["t", "t"], [1, 1], True)
