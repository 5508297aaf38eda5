# SPDX-License-Identifier: Apache-2.0
"""Schemas and values of headrace's as Java's.

What converts the values of a schema, its writer, is made once for equal schemas. A writer returns a Java object, or
what JPype passes on as one: str, bool, float (as Double) and int (as Long).
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.logical import MILLIS_PER_DAY, from_logical
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Struct, Type
from headrace.java.errors import python_error
from headrace.java.jvm import java_class, jpype
from headrace.java.to_python import KEPT_SCHEMAS

Writer = Callable[[Any], Any]
"""A function from a value of Python's, which is not None, to Java's."""


@functools.lru_cache(KEPT_SCHEMAS)
def java_schema(schema: Schema | None) -> Any:
    """Return a schema of headrace's as Java's; null for None."""
    if schema is None:
        return None
    types = _types()
    default = None if schema.default is None else java_value(schema.replace(default=None), schema.default)
    fields = types.array_list()
    for field in schema.fields:
        fields.add(types.field(field.name, field.index, java_schema(field.schema)))
    return types.schema(
        types.type.valueOf(schema.type.name),
        schema.optional,
        default,
        schema.name,
        None if schema.version is None else types.integer(schema.version),
        schema.doc,
        None if schema.parameters is None else java_map(schema.parameters),
        fields if schema.type is Type.STRUCT else None,
        java_schema(schema.key_schema),
        java_schema(schema.value_schema),
    )


def java_value(schema: Schema | None, value: Any) -> Any:
    """Return a value of Python's as Java's; `schema` is headrace's, or None for schemaless data.

    Integers without a schema are Longs, other numbers Doubles, as Java's JsonConverter has them. Raise DataError if
    the value does not fit the schema.
    """
    if value is None:
        return None
    if schema is not None:
        schema.validate_value(value)
    try:
        converted = writer(schema)(value)
        return _types().string(converted) if converted.__class__ is str else converted
    except (OverflowError, TypeError, UnicodeError) as error:
        raise DataError(f"Java cannot hold the value {value!r}: {error}") from error
    except jpype().JException as error:
        raise python_error(error) from None


def java_map(values: Mapping[str, Any]) -> Any:
    """Return a map without a schema, such as properties or a source offset, as Java's."""
    return _map(schemaless, schemaless, values)


@functools.lru_cache(KEPT_SCHEMAS)
def writer(schema: Schema | None) -> Writer:
    """Return the function that converts values of a schema, which are valid and not None."""
    if schema is None:
        return schemaless
    if schema.name in _LOGICAL:
        return functools.partial(_LOGICAL[schema.name], schema)
    if schema.type is Type.ARRAY:
        return functools.partial(_list, writer(schema.value_schema))
    if schema.type is Type.MAP:
        return functools.partial(_map, writer(schema.key_schema), writer(schema.value_schema))
    if schema.type is Type.STRUCT:
        return _struct_writer(schema)
    if (boxed := _BOXED.get(schema.type)) is not None:
        box: Writer = java_class(boxed)
        return box
    return java_bytes if schema.type is Type.BYTES else _as_it_is


def _struct_writer(schema: Schema) -> Writer:
    java = java_schema(schema)
    create = _types().struct
    fields = [(theirs, writer(ours.schema)) for ours, theirs in zip(schema.fields, java.fields(), strict=True)]

    def write(value: Struct) -> Any:
        struct = create(java)
        put = struct.put
        for (field, convert), inner in zip(fields, value.field_values, strict=True):
            if inner is not None:
                put(field, convert(inner))
        return struct

    return write


def _as_it_is(value: Any) -> Any:
    return value


def _long(value: int) -> Any:
    return _types().boxed_long(value)


def java_bytes(value: bytes | bytearray | memoryview) -> Any:
    """Return Java's ``byte[]``."""
    return _types().bytes(bytes(value))


def _list(convert: Writer, values: Sequence[Any]) -> Any:
    types = _types()
    return types.array_list(types.as_list([None if value is None else convert(value) for value in values]))


def _map(key: Writer, value: Writer, entries: Mapping[Any, Any]) -> Any:
    result = _types().map()
    put = result.put
    for k, v in entries.items():
        put(None if k is None else key(k), None if v is None else value(v))
    return result


def decimal_text(value: Decimal) -> str:
    """Return the text that Java makes an equal decimal of. Raise DataError if there is none."""
    if not value.is_finite():
        raise DataError(f"Java cannot hold the decimal {value}")
    return str(value)


def milliseconds(schema: Schema, value: datetime.date | datetime.time | datetime.datetime) -> int:
    """Return the time of Java's date for a value of a logical type, in ms since the epoch."""
    number: int = from_logical(schema, value)
    return number * MILLIS_PER_DAY if schema.name == DATE else number


def _decimal(schema: Schema, value: Decimal) -> Any:
    return _types().decimal(decimal_text(value))


def _moment(schema: Schema, value: datetime.date | datetime.time | datetime.datetime) -> Any:
    types = _types()
    return types.date(types.long(milliseconds(schema, value)))


_LOGICAL: Final[Mapping[str | None, Callable[[Schema, Any], Any]]] = {
    DECIMAL: _decimal,
    DATE: _moment,
    TIME: _moment,
    TIMESTAMP: _moment,
}
_BOXED: Final[Mapping[Type, str]] = {
    Type.INT8: "java.lang.Byte",
    Type.INT16: "java.lang.Short",
    Type.INT32: "java.lang.Integer",
    Type.INT64: "java.lang.Long",
    Type.FLOAT32: "java.lang.Float",
}


def schemaless(value: Any) -> Any:
    """Return a value of Python's without a schema as Java's."""
    return None if value is None else _writer_of(value.__class__)(value)


@functools.cache
def _writer_of(cls: type) -> Writer:
    for ours, write in _SCHEMALESS:
        if issubclass(cls, ours):
            return write
    raise DataError(f"{cls.__name__} is no type of Connect data")


def _struct(value: Struct) -> Any:
    return writer(value.schema)(value)


_SCHEMALESS: Final[tuple[tuple[type | tuple[type, ...], Writer], ...]] = (
    ((str, bool, float), _as_it_is),
    (int, _long),
    (Struct, _struct),
    (Mapping, functools.partial(_map, schemaless, schemaless)),
    ((list, tuple), functools.partial(_list, schemaless)),
    ((bytes, bytearray, memoryview), java_bytes),
    (Decimal, functools.partial(_decimal, Schema(Type.BYTES, name=DECIMAL))),
    (datetime.datetime, functools.partial(_moment, Schema.TIMESTAMP)),
    (datetime.date, functools.partial(_moment, Schema.DATE)),
    (datetime.time, functools.partial(_moment, Schema.TIME)),
)


@functools.cache
def _types() -> SimpleNamespace:
    bridge, connect = jpype(), "org.apache.kafka.connect.data"
    return SimpleNamespace(
        array_list=java_class("java.util.ArrayList"),
        as_list=java_class("java.util.Arrays").asList,
        boxed_long=java_class("java.lang.Long"),
        bytes=bridge.JArray(bridge.JByte),
        date=java_class("java.util.Date"),
        decimal=java_class("java.math.BigDecimal"),
        field=java_class(f"{connect}.Field"),
        integer=java_class("java.lang.Integer"),
        long=bridge.JLong,
        map=java_class("java.util.LinkedHashMap"),
        schema=java_class(f"{connect}.ConnectSchema"),
        string=java_class("java.lang.String"),
        struct=java_class(f"{connect}.Struct"),
        type=java_class(f"{connect}.Schema$Type"),
    )
