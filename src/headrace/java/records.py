# SPDX-License-Identifier: Apache-2.0
"""Records with their headers, from Java to Python and back.

Maps of source partitions and offsets are schemaless: each integer of Java's is an int, and each int a Long, which is
what Java's offset reader returns as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.headers import Header, Headers
from headrace.api.record import ConnectRecord, SinkRecord, SourceRecord, TimestampType
from headrace.java.jvm import java_class, jpype
from headrace.java.to_java import java_map, java_schema, java_value
from headrace.java.to_python import python_schema, python_value, schemaless


def python_source_record(record: Any) -> SourceRecord:
    """Return a Java `SourceRecord` as headrace's. Raise DataError if Python cannot hold its data."""
    return SourceRecord(schemaless(record.sourcePartition()), schemaless(record.sourceOffset()), *contents(record))


def python_sink_record(record: Any) -> SinkRecord:
    """Return a Java `SinkRecord` as headrace's. Raise DataError if Python cannot hold its data."""
    topic, partition, key_schema, key, value_schema, value, timestamp, headers = contents(record)
    return SinkRecord(
        topic,
        partition,
        key_schema,
        key,
        value_schema,
        value,
        int(record.kafkaOffset()),
        timestamp,
        _timestamp_type(record),
        headers,
        str(record.originalTopic()),
        _int(record.originalKafkaPartition()),
        int(record.originalKafkaOffset()),
    )


class JavaContents:
    """Base of classes of sink records that are in Java: each part is converted where it is read first.

    Reading a part raises DataError if Python cannot hold it.
    """

    __slots__ = ()

    java: Any
    """The Java record. A record that is derived of this one has none."""

    def __getattr__(self, name: str) -> Any:
        part = _SINK_PARTS.get(name)
        if part is None:
            raise AttributeError(name)
        value = part(self.java)
        setattr(self, name, value)
        return value


def java_source_record(record: SourceRecord) -> Any:
    """Return a `SourceRecord` as Java's."""
    types = _types()
    partition, offset = record.source_partition, record.source_offset
    return types.source_record(
        None if partition is None else java_map(partition),
        None if offset is None else java_map(offset),
        record.topic,
        None if record.kafka_partition is None else types.integer(record.kafka_partition),
        *_key_and_value(record),
        None if record.timestamp is None else types.boxed_long(record.timestamp),
        java_headers(record),
    )


def java_sink_record(record: SinkRecord) -> Any:
    """Return a `SinkRecord` as Java's. Raise DataError for a record without a Kafka partition."""
    types = _types()
    if record.kafka_partition is None or record.original_kafka_partition is None:
        raise DataError(f"A Java sink record needs a Kafka partition: topic {record.topic}")
    return types.sink_record(
        record.topic,
        types.int(record.kafka_partition),
        *_key_and_value(record),
        types.long(record.kafka_offset),
        None if record.timestamp is None else types.boxed_long(record.timestamp),
        types.timestamp_type.valueOf(record.timestamp_type.name),
        java_headers(record),
        record.original_topic,
        types.integer(record.original_kafka_partition),
        types.long(record.original_kafka_offset),
    )


def with_contents(record: ConnectRecord, changed: Any) -> ConnectRecord:
    """Return `record` with topic, key, value, timestamp and headers of a Java record; its origin stays."""
    return with_parts(record, contents(changed))


def with_parts(record: ConnectRecord, parts: tuple[Any, ...]) -> ConnectRecord:
    """Return `record` with what `contents` has returned; its origin stays."""
    topic, partition, key_schema, key, value_schema, value, timestamp, headers = parts
    return record.new_record(topic, partition, key_schema, key, value_schema, value, timestamp, headers or Headers())


def java_headers(record: ConnectRecord) -> Any:
    """Return the headers of a record as Java's; null if there are none."""
    return _java_headers(record.headers) if record.has_headers else None


def java_header_list(headers: Iterable[Header]) -> Any:
    """Return headers as a Java list that several records may be made with: each has a copy of it."""
    made = java_class("java.util.ArrayList")()
    for each in _java_headers(headers):
        made.add(each)
    return made


def _java_headers(headers: Iterable[Header]) -> Any:
    made = _types().headers()
    for name, value, schema in headers:
        made.add(name, java_value(schema, value), java_schema(schema))
    return made


def _key_and_value(record: ConnectRecord) -> tuple[Any, Any, Any, Any]:
    key, value = record.key_schema, record.value_schema
    return java_schema(key), java_value(key, record.key), java_schema(value), java_value(value, record.value)


def contents(record: Any) -> tuple[Any, ...]:
    """Return topic, Kafka partition, key and value with their schemas, timestamp and headers of a Java record."""
    key, value = record.keySchema(), record.valueSchema()
    return (
        _topic(record),
        _int(record.kafkaPartition()),
        python_schema(key),
        python_value(key, record.key()),
        python_schema(value),
        python_value(value, record.value()),
        _int(record.timestamp()),
        headers_of(record),
    )


def headers_of(record: Any) -> Headers | None:
    """Return the headers of a Java record; None if there are none."""
    return python_headers(record.headers())


def python_headers(headers: Any) -> Headers | None:
    """Return Java's headers as headrace's; None if there are none."""
    return None if headers.isEmpty() else Headers(map(_header, headers))


def _header(header: Any) -> Header:
    schema = header.schema()
    return Header(str(header.key()), python_value(schema, header.value()), python_schema(schema))


def _topic(record: Any) -> str | None:
    return None if (topic := record.topic()) is None else str(topic)


def _timestamp_type(record: Any) -> TimestampType:
    return TimestampType(str(record.timestampType().name))


def _int(value: Any) -> int | None:
    return None if value is None else int(value)


PARTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "topic": _topic,
    "kafka_partition": lambda java: _int(java.kafkaPartition()),
    "key_schema": lambda java: python_schema(java.keySchema()),
    "key": lambda java: python_value(java.keySchema(), java.key()),
    "value_schema": lambda java: python_schema(java.valueSchema()),
    "value": lambda java: python_value(java.valueSchema(), java.value()),
    "timestamp": lambda java: _int(java.timestamp()),
    "_headers": headers_of,
}
"""Functions of the parts of any Java record, in the order of `contents`, by the attributes of records."""
_SINK_PARTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **PARTS,
    "kafka_offset": lambda java: int(java.kafkaOffset()),
    "timestamp_type": _timestamp_type,
    "original_topic": lambda java: str(java.originalTopic()),
    "original_kafka_partition": lambda java: _int(java.originalKafkaPartition()),
    "original_kafka_offset": lambda java: int(java.originalKafkaOffset()),
}


@functools.cache
def _types() -> SimpleNamespace:
    bridge, connect = jpype(), "org.apache.kafka.connect"
    return SimpleNamespace(
        boxed_long=java_class("java.lang.Long"),
        headers=java_class(f"{connect}.header.ConnectHeaders"),
        int=bridge.JInt,
        integer=java_class("java.lang.Integer"),
        long=bridge.JLong,
        sink_record=java_class(f"{connect}.sink.SinkRecord"),
        source_record=java_class(f"{connect}.source.SourceRecord"),
        timestamp_type=java_class("org.apache.kafka.common.record.TimestampType"),
    )
