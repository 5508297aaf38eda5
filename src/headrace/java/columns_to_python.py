# SPDX-License-Identifier: Apache-2.0
"""Columns of Java's values as Python's: the same as `to_python` makes of each, with a few calls for a whole column.

A column is a Java list. Structs, lists and maps are taken apart into columns of what they hold; numbers cross as one
array, and texts as one that Python cuts. Values without a schema are converted class by class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.logical import to_logical
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Struct, Type
from headrace.java.arrays import bytes_column, python_numbers, text_column
from headrace.java.errors import python_error
from headrace.java.functions import as_interface, as_number, as_object, identity, if_else, method, with_values
from headrace.java.jvm import java_class, jpype
from headrace.java.kinds import by_kind
from headrace.java.to_python import KEPT_SCHEMAS, python_date, python_schema, unique_keys

ColumnReader = Callable[[Any], list[Any]]
"""A function from a Java list of values, none of which is null, to a list of Python's."""
_CONNECT: Final = "org.apache.kafka.connect.data"
_OBJECT: Final = "java.lang.Object"


def python_column(schema: Any, column: Any) -> list[Any]:
    """Return a Java list of values and nulls as Python's; `schema` is Java's, or None for schemaless data.

    Raise DataError if a value does not fit the schema, or Python cannot hold it: which one is not said.
    """
    try:
        return _with_nulls(_schemaless if schema is None else _checked_reader(schema), column)
    except UnicodeError as error:
        raise DataError("A text of Java has half of a surrogate pair, which is no character") from error
    except jpype().JException as error:
        raise python_error(error) from None


@functools.lru_cache(KEPT_SCHEMAS)
def _checked_reader(schema: Any) -> ColumnReader:
    """Return the reader of a schema that first has Java check the values."""
    validate = method(f"{_CONNECT}.ConnectSchema", "validateValue", f"{_CONNECT}.Schema", _OBJECT)
    check, read = as_interface("Consumer", with_values(validate, {0: schema})), _reader(schema)

    def checked(column: Any) -> list[Any]:
        column.forEach(check)
        return read(column)

    return checked


@functools.lru_cache(KEPT_SCHEMAS)
def _reader(schema: Any) -> ColumnReader:
    name, kind = schema.name(), Type[str(schema.type().name())]
    if name is not None and (logical := _LOGICAL.get(str(name))) is not None:
        return logical
    if kind is Type.ARRAY:
        return functools.partial(_lists, _inner(schema.valueSchema()))
    if kind is Type.MAP:
        return functools.partial(_maps, _inner(schema.keySchema()), _inner(schema.valueSchema()))
    if kind is Type.STRUCT:
        return _struct_reader(schema)
    return _PRIMITIVES[kind]


def _inner(schema: Any) -> ColumnReader:
    """Return the function that converts values within others, which may be null."""
    return functools.partial(_with_nulls, _schemaless if schema is None else _reader(schema))


def _with_nulls(read: ColumnReader, column: Any) -> list[Any]:
    """Return what `read` makes of the values of a column, with None for nulls."""
    functions = _functions()
    if not column.size():
        return []
    if column.indexOf(None) < 0:
        return read(column)
    present = python_numbers("i", column.stream().mapToInt(functions.present).toArray())
    values = iter(read(column.stream().filter(functions.not_null).toList()) if any(present) else ())
    return [next(values) if each else None for each in present]


def _struct_reader(schema: Any) -> ColumnReader:
    ours = python_schema(schema)
    assert ours is not None
    get, text = method(f"{_CONNECT}.Struct", "getWithoutDefault", "java.lang.String"), java_class("java.lang.String")
    fields = [
        (as_interface("Function", with_values(get, {1: text(field.name)})), _inner(java.schema()))
        for field, java in zip(ours.fields, schema.fields(), strict=True)
    ]

    def read(column: Any) -> list[Any]:
        if not fields:
            return [Struct.of_valid(ours, []) for _ in range(column.size())]
        columns = [convert(column.stream().map(get).toList()) for get, convert in fields]
        return [Struct.of_valid(ours, [*row]) for row in zip(*columns, strict=True)]

    return read


def _structs(column: Any) -> list[Any]:
    """Return structs, each of a schema of its own."""
    return by_kind(column, method(f"{_CONNECT}.Struct", "schema"), _reader)


def _integers(column: Any) -> list[Any]:
    return python_numbers("q", column.stream().mapToLong(_functions().long).toArray())


def _floats(column: Any) -> list[Any]:
    return python_numbers("d", column.stream().mapToDouble(_functions().double).toArray())


def _booleans(column: Any) -> list[Any]:
    return [*map(bool, python_numbers("i", column.stream().mapToInt(_functions().boolean).toArray()))]


def _bytes(column: Any) -> list[Any]:
    return bytes_column(column.stream().map(_functions().bytes).toList())


def _texts_of(column: Any) -> list[str]:
    return text_column(column.stream().map(_functions().text).toList())


def _decimals(column: Any) -> list[Any]:
    return [*map(Decimal, _texts_of(column))]


def _large_integers(column: Any) -> list[Any]:
    return [*map(int, _texts_of(column))]


def _milliseconds(column: Any) -> list[Any]:
    return python_numbers("q", column.stream().mapToLong(_functions().time).toArray())


def _dates(column: Any) -> list[Any]:
    return [*map(python_date, _milliseconds(column))]


def _moments(schema: Schema, column: Any) -> list[Any]:
    return [to_logical(schema, each) for each in _milliseconds(column)]


def _lists(elements: ColumnReader, column: Any) -> list[Any]:
    functions = _functions()
    sizes = python_numbers("i", column.stream().mapToInt(functions.size).toArray())
    flat = iter(elements(column.stream().flatMap(functions.stream).toList()))
    return [[next(flat) for _ in range(size)] for size in sizes]


def _maps(keys: ColumnReader, values: ColumnReader, column: Any) -> list[Any]:
    functions = _functions()
    entries = column.stream().map(functions.entries).toList()
    sizes = python_numbers("i", entries.stream().mapToInt(functions.size).toArray())
    flat = entries.stream().flatMap(functions.stream).toList()
    columns = keys(flat.stream().map(functions.key).toList()), values(flat.stream().map(functions.value).toList())
    pairs = zip(*columns, strict=True)
    return [unique_keys([next(pairs) for _ in range(size)]) for size in sizes]


def _schemaless(column: Any) -> list[Any]:
    """Return values that know their types only by their classes."""
    return by_kind(column, method(_OBJECT, "getClass"), _reader_of)


@functools.lru_cache(KEPT_SCHEMAS)
def _reader_of(cls: Any) -> ColumnReader:
    for name, read in _SCHEMALESS.items():
        if java_class(name).class_.isAssignableFrom(cls):
            return read
    raise DataError(f"Java's {cls.getName()} is no type of Connect data")


_LOGICAL: Final[dict[str, ColumnReader]] = {
    DECIMAL: _decimals,
    DATE: _dates,
    TIME: functools.partial(_moments, Schema.TIME),
    TIMESTAMP: functools.partial(_moments, Schema.TIMESTAMP),
}
_PRIMITIVES: Final[dict[Type, ColumnReader]] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), _integers),
    **dict.fromkeys((Type.FLOAT32, Type.FLOAT64), _floats),
    Type.BOOLEAN: _booleans,
    Type.STRING: text_column,
    Type.BYTES: _bytes,
}
_ANY: Final = functools.partial(_with_nulls, _schemaless)
_SCHEMALESS: Final[dict[str, ColumnReader]] = {
    "java.lang.String": text_column,
    **dict.fromkeys(("java.lang.Long", "java.lang.Integer", "java.lang.Short", "java.lang.Byte"), _integers),
    **dict.fromkeys(("java.lang.Double", "java.lang.Float"), _floats),
    "java.lang.Boolean": _booleans,
    "java.util.Map": functools.partial(_maps, _ANY, _ANY),
    "java.util.List": functools.partial(_lists, _ANY),
    f"{_CONNECT}.Struct": _structs,
    "java.nio.ByteBuffer": _bytes,
    "byte[]": _bytes,
    "java.util.Date": functools.partial(_moments, Schema.TIMESTAMP),
    "java.math.BigDecimal": _decimals,
    "java.math.BigInteger": _large_integers,
}


@functools.cache
def _functions() -> SimpleNamespace:
    present = method("java.util.Objects", "nonNull", _OBJECT)
    to_array = as_object(method("org.apache.kafka.common.utils.Utils", "toArray", "java.nio.ByteBuffer"))
    is_array = method("java.lang.Class", "isInstance", _OBJECT).bindTo(java_class("byte[]").class_)
    return SimpleNamespace(
        boolean=as_interface("ToIntFunction", as_number(method("java.lang.Boolean", "booleanValue"))),
        bytes=as_interface("Function", if_else(is_array, identity(_OBJECT), to_array)),
        double=as_interface("ToDoubleFunction", method("java.lang.Number", "doubleValue")),
        entries=as_interface("Function", method("java.util.Map", "entrySet")),
        key=as_interface("Function", method("java.util.Map$Entry", "getKey")),
        long=as_interface("ToLongFunction", method("java.lang.Number", "longValue")),
        not_null=as_interface("Predicate", present),
        present=as_interface("ToIntFunction", as_number(present)),
        size=as_interface("ToIntFunction", method("java.util.Collection", "size")),
        stream=as_interface("Function", method("java.util.Collection", "stream")),
        text=as_interface("Function", method(_OBJECT, "toString")),
        time=as_interface("ToLongFunction", method("java.util.Date", "getTime")),
        value=as_interface("Function", method("java.util.Map$Entry", "getValue")),
    )
