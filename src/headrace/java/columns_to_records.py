# SPDX-License-Identifier: Apache-2.0
"""Many of headrace's records as Java's, made of columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.record import ConnectRecord, SinkRecord, SourceRecord, TimestampType
from headrace.api.schema import Schema
from headrace.java.arrays import integers, longs
from headrace.java.columns_to_java import converted_once, java_column, java_columns
from headrace.java.errors import java_errors
from headrace.java.functions import Cell, Handle, constructor, for_any_number, method, objects, of_same
from headrace.java.jvm import java_class
from headrace.java.polled_records import PolledRecord
from headrace.java.row_functions import OBJECTS, RowFunction, elements_at

_CONNECT: Final = "org.apache.kafka.connect"
_OBJECT: Final = "java.lang.Object"
_STRING: Final = "java.lang.String"
_INTEGER: Final = "java.lang.Integer"
_LONG: Final = "java.lang.Long"
_MAP: Final = "java.util.Map"
_SCHEMA: Final = f"{_CONNECT}.data.Schema"
_HEADERS: Final = f"{_CONNECT}.header.ConnectHeaders"
_DATA: Final = (_SCHEMA, _OBJECT, _SCHEMA, _OBJECT)
_SOURCE_RECORD: Final = f"{_CONNECT}.source.SourceRecord"
_SINK_RECORD: Final = f"{_CONNECT}.sink.SinkRecord"
_TYPE: Final = "org.apache.kafka.common.record.TimestampType"


def java_source_records(records: Sequence[SourceRecord]) -> Any:
    """Return an array of Java's records.

    Raise ConnectError, mostly DataError, if Java cannot hold one: which one is not said.
    """
    with java_errors():
        return _functions().source_record(
            len(records),
            *_positions(records),
            _topics(records),
            java_column(Schema.INT32, [each.kafka_partition for each in records]),
            *_keys_and_values(records),
            java_column(Schema.INT64, [each.timestamp for each in records]),
            _headers(records),
        )


def java_sink_records(records: Sequence[SinkRecord]) -> Any:
    """Return an array of Java's records.

    Raise DataError for one without a Kafka partition, or what `java_source_records` does.
    """
    if any(each.kafka_partition is None or each.original_kafka_partition is None for each in records):
        raise DataError("A Java sink record needs a Kafka partition")
    with java_errors():
        return _functions().sink_record(
            len(records),
            _topics(records),
            integers([each.kafka_partition or 0 for each in records]),
            *_keys_and_values(records),
            longs([each.kafka_offset for each in records]),
            java_column(Schema.INT64, [each.timestamp for each in records]),
            _timestamp_types([each.timestamp_type for each in records]),
            _headers(records),
            java_column(Schema.STRING, [each.original_topic for each in records]),
            java_column(Schema.INT32, [each.original_kafka_partition for each in records]),
            longs([each.original_kafka_offset for each in records]),
        )


def _positions(records: Sequence[SourceRecord]) -> tuple[Any, Any]:
    """Return source partitions and offsets; those of records that a Java task has polled are Java's own."""
    if all(isinstance(each, PolledRecord) for each in records):
        polled, functions = objects(*(each.java for each in records)), _functions()  # type: ignore[attr-defined]
        return functions.source_partition(len(records), polled), functions.source_offset(len(records), polled)
    return _maps([each.source_partition for each in records]), _maps([each.source_offset for each in records])


def _topics(records: Sequence[ConnectRecord]) -> Any:
    return java_column(Schema.STRING, [each.topic for each in records])


def _keys_and_values(records: Sequence[ConnectRecord]) -> tuple[Any, Any, Any, Any]:
    keys = java_columns([each.key_schema for each in records], [each.key for each in records])
    return *keys, *java_columns([each.value_schema for each in records], [each.value for each in records])


def _maps(column: Sequence[Any]) -> Any:
    """Return maps without a schema; one that several records have is converted once."""
    return converted_once(column, partial(java_column, None))


def _timestamp_types(column: Sequence[TimestampType]) -> Any:
    kind = java_class(_TYPE)
    return converted_once(column, lambda types: objects(*(kind.valueOf(each.name) for each in types)))


def _headers(records: Sequence[ConnectRecord]) -> Any:
    """Return headers, or null for records that have none."""
    owners = [row for row, each in enumerate(records) if each.has_headers]
    if not owners:
        return elements_at(objects(), [0] * len(records))
    functions, found = _functions(), [records[row].headers for row in owners]
    made = functions.headers(len(owners))
    flat = [header for headers in found for header in headers]
    schemas, values = java_columns([each.schema for each in flat], [each.value for each in flat])
    rows = [place for place, headers in enumerate(found) for _ in range(len(headers))]
    names = java_column(Schema.STRING, [each.key for each in flat])
    functions.add_header(len(flat), elements_at(made, rows), names, values, schemas)
    places = dict(zip(owners, range(len(owners)), strict=True))
    return elements_at(made, [places.get(row, len(owners)) for row in range(len(records))])


@cache
def _functions() -> SimpleNamespace:
    source = constructor(_SOURCE_RECORD, _MAP, _MAP, _STRING, _INTEGER, *_DATA, _LONG, "java.lang.Iterable")
    sink = constructor(
        _SINK_RECORD,
        *(_STRING, "int", *_DATA, "long", _LONG, _TYPE, "java.lang.Iterable", _STRING, _INTEGER, "long"),
    )
    add = method(_HEADERS, "add", _STRING, _OBJECT, _SCHEMA)
    sink_kinds = {1: "int[]", 6: "long[]", 12: "long[]"}
    return SimpleNamespace(
        add_header=_of_elements(add, *[OBJECTS] * 4),
        headers=RowFunction(lambda: for_any_number(constructor(_HEADERS))),
        sink_record=_of_elements(sink, *(sink_kinds.get(place, OBJECTS) for place in range(13))),
        source_offset=_of_elements(method(_SOURCE_RECORD, "sourceOffset"), OBJECTS),
        source_partition=_of_elements(method(_SOURCE_RECORD, "sourcePartition"), OBJECTS),
        source_record=_of_elements(source, *[OBJECTS] * 10),
    )


def _of_elements(function: Handle, *kinds: str) -> RowFunction:
    def make(*cells: Cell) -> Handle:
        return of_same(function, *(each.element() for each in cells))

    return RowFunction(make, *kinds)
