# SPDX-License-Identifier: Apache-2.0
"""Functions that make Java's sink records of consumed columns; each is a function of a row's number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, Final

from headrace.api.record import TimestampType
from headrace.java.arrays import joined_bytes
from headrace.java.functions import (
    Handle,
    after,
    always,
    array_element,
    constructor,
    if_else,
    method,
    of_same,
    with_values,
)
from headrace.java.instances import HeldInstance
from headrace.java.jvm import java_class

_CONNECT: Final = "org.apache.kafka.connect"
_DATA: Final = f"{_CONNECT}.data.SchemaAndValue"
_OBJECT: Final = "java.lang.Object"
_SCHEMA: Final = f"{_CONNECT}.data.Schema"
_HEADERS: Final = "java.lang.Iterable"
_STRING: Final = "java.lang.String"
_LONG: Final = "java.lang.Long"
_TYPE: Final = "org.apache.kafka.common.record.TimestampType"
_RECORD: Final = f"{_CONNECT}.sink.SinkRecord"
_CONSUMED: Final = "org.apache.kafka.clients.consumer.ConsumerRecord"
_CONTEXT: Final = f"{_CONNECT}.runtime.errors.ProcessingContext"


@dataclass(frozen=True, slots=True)
class Origins:
    """Topics, partitions and offsets of consumed records, as columns."""

    topics: Sequence[str]
    partitions: Sequence[int]
    offsets: Sequence[int]


@dataclass(frozen=True, slots=True)
class Times:
    """Timestamps of consumed records, in ms since the epoch, and their types, as columns."""

    timestamps: Sequence[int | None]
    types: Sequence[TimestampType]


def rows(count: int) -> Any:
    """Return a Java list of the numbers of so many rows."""
    return java_class("java.util.stream.IntStream").range(0, count).boxed().toList()


def data_function(converter: HeldInstance, topics: Sequence[str], column: Sequence[bytes | None]) -> Handle:
    """Return the function that converts the bytes of a row to data with a schema."""
    parts = _texts(topics), _byte_arrays(column)
    return after(of_same(converter.handle("toConnectData", 2), *parts), _not_null())


def record_function(
    origins: Origins, times: Times, keys: Any, values: Any, headers: Sequence[Any] | None = None
) -> Handle:
    """Return the function that makes the record of a row, of the results of two functions of data.

    ``headers`` has Java lists of headers, which rows may share and each record copies; None for those without any.
    """
    row = "int"
    made = constructor(
        _RECORD,
        *(_STRING, row, _SCHEMA, _OBJECT, _SCHEMA, _OBJECT, "long", _LONG, _TYPE, "java.lang.Iterable"),
    )
    return of_same(
        made,
        _texts(origins.topics),
        array_element("int", origins.partitions),
        *_schema_and_value(keys),
        *_schema_and_value(values),
        array_element("long", origins.offsets),
        _timestamps(times.timestamps),
        _timestamp_types(times.types),
        always(_HEADERS, None, row) if headers is None else array_element(_HEADERS, headers),
    )


def put_function(origins: Origins, batch: Any, records: Any) -> Handle:
    """Return the function that makes the record to put of a row of ``records``.

    In place of the consumed key and value it has ``batch`` and the row. The origin is that of the consumed record,
    whatever a transformation has made of the record's own fields.
    """
    consumed = with_values(constructor(_CONSUMED, _STRING, "int", "long", _OBJECT, _OBJECT), {3: batch})
    origin = of_same(
        consumed,
        _texts(origins.topics),
        array_element("int", origins.partitions),
        array_element("long", origins.offsets),
        method("java.lang.Integer", "valueOf", "int"),
    )
    context = after(origin, constructor(_CONTEXT, _OBJECT))
    record = method("java.util.List", "get", "int").bindTo(records)
    return of_same(constructor(f"{_CONNECT}.runtime.InternalSinkRecord", _CONTEXT, _RECORD), context, record)


def _byte_arrays(column: Sequence[bytes | None]) -> Handle:
    ends = list(accumulate(len(each or b"") for each in column))
    copy = method("java.util.Arrays", "copyOfRange", "byte[]", "int", "int").bindTo(joined_bytes(column))
    copied = of_same(copy, array_element("int", [0, *ends[:-1]]), array_element("int", ends))
    return _or_null("byte[]", column, copied)


def _timestamps(column: Sequence[int | None]) -> Handle:
    numbers = array_element("long", [timestamp or 0 for timestamp in column])
    return _or_null(_LONG, column, after(numbers, method(_LONG, "valueOf", "long")))


def _or_null(kind: str, column: Sequence[Any], otherwise: Handle) -> Handle:
    """Return the function that returns null for the rows in which ``column`` is None."""
    nulls = [each is None for each in column]
    if not any(nulls):
        return otherwise
    return if_else(array_element("boolean", nulls), always(kind, None, "int"), otherwise)


def _texts(column: Sequence[str]) -> Handle:
    if len({*column}) == 1:
        return always(_STRING, column[0], "int")
    return array_element(_STRING, column)


def _timestamp_types(column: Sequence[TimestampType]) -> Handle:
    types = {each: java_class(_TYPE).valueOf(each.name) for each in {*column}}
    if len(types) == 1:
        return always(_TYPE, types[column[0]], "int")
    return array_element(_TYPE, [types[each] for each in column])


def _schema_and_value(column: Any) -> tuple[Handle, Handle]:
    element = method("java.util.List", "get", "int").bindTo(column)
    return after(element, method(_DATA, "schema")), after(element, method(_DATA, "value"))


@cache
def _not_null() -> Handle:
    """Return the function that returns data without schema and value in place of null."""
    either = method("java.util.Objects", "requireNonNullElse", _OBJECT, _OBJECT)
    return with_values(either, {1: java_class(_DATA).NULL})
