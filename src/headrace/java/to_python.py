# SPDX-License-Identifier: Apache-2.0
"""Schemas and values of Java's as headrace's.

What converts the values of a schema, its reader, is made once for equal schemas. Values that Python cannot hold are
DataErrors: dates and timestamps outside the years 1 to 9999, and maps whose keys differ in Java but not in Python.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Iterable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.logical import MILLIS_PER_DAY, to_logical
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Field, Schema, Struct, Type
from headrace.java.errors import python_error
from headrace.java.jvm import java_class, jpype

Reader = Callable[[Any], Any]
"""A function from a value of Java's, which is not null, to Python's."""
KEPT_SCHEMAS: Final = 2_000


@functools.lru_cache(KEPT_SCHEMAS)
def python_schema(schema: Any) -> Schema | None:
    """Return a schema of Java's as headrace's; None for null."""
    if schema is None:
        return None
    default, parameters = schema.defaultValue(), schema.parameters()
    kind, name = Type[str(schema.type().name())], schema.name()
    return Schema(
        kind,
        bool(schema.isOptional()),
        None if default is None else _reader(schema, own_default=True)(default),
        None if name is None else str(name),
        None if (version := schema.version()) is None else int(version),
        None if (doc := schema.doc()) is None else str(doc),
        None if parameters is None else {str(e.getKey()): str(e.getValue()) for e in parameters.entrySet()},
        _fields(schema) if kind is Type.STRUCT else (),
        python_schema(schema.keySchema()) if kind is Type.MAP else None,
        python_schema(schema.valueSchema()) if kind in (Type.MAP, Type.ARRAY) else None,
    )


def python_value(schema: Any, value: Any) -> Any:
    """Return a value of Java's as Python's; `schema` is Java's, or None for schemaless data.

    Raise DataError if the value does not fit the schema, or Python cannot hold it.
    """
    if value is None:
        return None
    try:
        return schemaless(value) if schema is None else _checked_reader(schema)(value)
    except UnicodeError as error:
        raise DataError("A text of Java has half of a surrogate pair, which is no character") from error
    except jpype().JException as error:
        raise python_error(error) from None


@functools.lru_cache(KEPT_SCHEMAS)
def _checked_reader(schema: Any) -> Reader:
    """Return the reader of a schema that first has Java check the value."""
    validate, read = _types().validate, reader(schema)

    def checked(value: Any) -> Any:
        validate(schema, value)
        return read(value)

    return checked


@functools.lru_cache(KEPT_SCHEMAS)
def reader(schema: Any) -> Reader:
    """Return the function that converts values of a schema, which are valid and not null."""
    return schemaless if schema is None else _reader(schema)


def _reader(schema: Any, own_default: bool = False) -> Reader:
    name, kind = schema.name(), Type[str(schema.type().name())]
    if name is not None and (logical := _LOGICAL.get(str(name))) is not None:
        # The scale of decimals is that of the values.
        return functools.partial(logical, Schema(kind, name=str(name)))
    if kind is Type.ARRAY:
        return functools.partial(_list, reader(schema.valueSchema()))
    if kind is Type.MAP:
        return functools.partial(_map, reader(schema.keySchema()), reader(schema.valueSchema()))
    if kind is Type.STRUCT:
        # A default is a struct of a schema of its own, which has no default.
        return _any_struct if own_default else _struct_reader(schema)
    return _PRIMITIVES[kind]


def _fields(schema: Any) -> tuple[Field, ...]:
    found = []
    for field in schema.fields():
        inner = python_schema(field.schema())
        assert inner is not None
        found.append(Field(str(field.name()), int(field.index()), inner))
    return tuple(found)


def _struct_reader(schema: Any) -> Reader:
    ours = python_schema(schema)
    assert ours is not None
    text = java_class("java.lang.String")
    fields = [
        (text(field.name), reader(java.schema())) for field, java in zip(ours.fields, schema.fields(), strict=True)
    ]

    def read(struct: Any) -> Struct:
        get = struct.getWithoutDefault
        return Struct.of_valid(
            ours, [None if (value := get(name)) is None else convert(value) for name, convert in fields]
        )

    return read


def _any_struct(struct: Any) -> Struct:
    result: Struct = reader(struct.schema())(struct)
    return result


def _as_it_is(value: Any) -> Any:
    return value


def _bytes(value: Any) -> bytes:
    types = _types()
    return bytes(value if isinstance(value, types.bytes) else types.to_array(value))


def _list(convert: Reader, values: Any) -> list[Any]:
    return [None if value is None else convert(value) for value in values.toArray()]


def _map(key: Reader, value: Reader, entries: Any) -> dict[Any, Any]:
    pairs = [(entry.getKey(), entry.getValue()) for entry in entries.entrySet().toArray()]
    return unique_keys((None if k is None else key(k), None if v is None else value(v)) for k, v in pairs)


def unique_keys(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a dict of keys and values. Raise DataError for keys that Python cannot distinguish or hold."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        try:
            known = key in found
        except TypeError as error:
            raise DataError(f"Python has no maps with keys such as {key!r}") from error
        if known:
            raise DataError(f"Two keys of a Java map are the same to Python: {key!r}")
        found[key] = value
    return found


def _decimal(schema: Schema, value: Any) -> Decimal:
    return Decimal(str(value.toString()))


def python_date(millis: int) -> datetime.date:
    """Return the date that begins at that many ms since the epoch. Raise DataError if none does."""
    days, rest = divmod(millis, MILLIS_PER_DAY)
    if rest:
        moment = java_class("java.time.Instant").ofEpochMilli(millis)
        raise DataError(f"A date must have no time of day: {moment}")
    date: datetime.date = to_logical(Schema.DATE, days)
    return date


def _date(schema: Schema, value: Any) -> Any:
    return python_date(int(value.getTime()))


def _moment(schema: Schema, value: Any) -> Any:
    return to_logical(schema, int(value.getTime()))


_LOGICAL: Final = {DECIMAL: _decimal, DATE: _date, TIME: _moment, TIMESTAMP: _moment}
_PRIMITIVES: Final[dict[Type, Reader]] = {
    Type.INT8: int,
    Type.INT16: int,
    Type.INT32: int,
    Type.INT64: int,
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: _bytes,
}


def schemaless(value: Any) -> Any:
    """Return a value of Java's without a schema as Python's; dates are timestamps."""
    return None if value is None else _reader_of(value.__class__)(value)


@functools.cache
def _reader_of(cls: Any) -> Reader:
    if cls in (bool, int, float, str):  # what JPype has converted itself
        return _as_it_is
    for names, read in _SCHEMALESS:
        if issubclass(cls, tuple(map(java_class, names))):
            return read
    if issubclass(cls, _types().bytes):
        return _bytes
    raise DataError(f"Java's {cls.class_.getName()} is no type of Connect data")


def _number(value: Any) -> int:
    return int(str(value.toString()))


_SCHEMALESS: Final[tuple[tuple[tuple[str, ...], Reader], ...]] = (
    (("java.lang.String",), str),
    (("java.lang.Long", "java.lang.Integer", "java.lang.Short", "java.lang.Byte"), int),
    (("java.lang.Double", "java.lang.Float"), float),
    (("java.lang.Boolean",), bool),
    (("java.util.Map",), functools.partial(_map, schemaless, schemaless)),
    (("java.util.List",), functools.partial(_list, schemaless)),
    (("org.apache.kafka.connect.data.Struct",), _any_struct),
    (("java.nio.ByteBuffer",), _bytes),
    (("java.util.Date",), functools.partial(_moment, Schema.TIMESTAMP)),
    (("java.math.BigDecimal",), functools.partial(_decimal, Schema(Type.BYTES, name=DECIMAL))),
    (("java.math.BigInteger",), _number),
)


@functools.cache
def _types() -> SimpleNamespace:
    bridge = jpype()
    return SimpleNamespace(
        bytes=bridge.JArray(bridge.JByte),
        to_array=java_class("org.apache.kafka.common.utils.Utils").toArray,
        validate=java_class("org.apache.kafka.connect.data.ConnectSchema").validateValue,
    )
