# SPDX-License-Identifier: Apache-2.0
"""Columns of Python's values as Java's: the same as `to_java` makes of each, with a few calls for a whole column.

A column of Java's is an array of objects. Structs, lists and maps are made of columns of what they hold; numbers cross
as one array, and texts and bytes as one that Java cuts. Values without a schema are converted class by class.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import accumulate, chain
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Struct, Type
from headrace.java.arrays import doubles, integers, joined_bytes, joined_texts, longs
from headrace.java.column_functions import column_functions
from headrace.java.errors import python_error
from headrace.java.functions import objects
from headrace.java.jvm import java_class, jpype
from headrace.java.row_functions import RowFunction, elements_at
from headrace.java.to_java import decimal_text, java_schema, milliseconds
from headrace.java.to_python import KEPT_SCHEMAS

ColumnWriter = Callable[[Sequence[Any]], Any]
"""A function from values of Python's, none of which is None, to an array of Java's objects."""
_MOST_KINDS: Final = 20
"""Schemas or classes in a column up to which each is worth calls of its own."""


def java_columns(schemas: Sequence[Schema | None], values: Sequence[Any]) -> tuple[Any, Any]:
    """Return schemas and values of Python's as arrays of Java's.

    Raise DataError if a value does not fit its schema, or Java cannot hold it: which one is not said.
    """
    with _data_errors():
        theirs = converted_once(schemas, lambda distinct: objects(*map(java_schema, distinct)))
        return theirs, _by_kind(values, schemas, _checked_writer)


def java_column(schema: Schema | None, values: Sequence[Any]) -> Any:
    """Return values of one schema, which fit it, or None, as an array of Java's. Raise what `java_columns` does."""
    with _data_errors():
        return _inner(schema)(values)


def converted_once(values: Sequence[Any], convert: ColumnWriter) -> Any:
    """Return an array of what `convert` makes of the different objects among `values`, each in all its places."""
    distinct = {id(each): each for each in values}
    places = {identity: place for place, identity in enumerate(distinct)}
    return elements_at(convert([*distinct.values()]), [places[id(each)] for each in values])


@contextmanager
def _data_errors() -> Iterator[None]:
    try:
        yield
    except (OverflowError, TypeError, UnicodeError) as error:
        raise DataError(f"Java cannot hold a value: {error}") from error
    except jpype().JException as error:
        raise python_error(error) from None


def _checked_writer(schema: Schema | None) -> ColumnWriter:
    """Return the writer of values that may be null; each is checked first."""
    if schema is None:
        return functools.partial(_with_nulls, _schemaless)
    write, validate = _writer(schema), schema.validate_value

    def checked(values: Sequence[Any]) -> Any:
        for value in values:
            if value is not None:
                validate(value)
        return _with_nulls(write, values)

    return checked


@functools.lru_cache(KEPT_SCHEMAS)
def _writer(schema: Schema) -> ColumnWriter:
    if schema.name in _LOGICAL:
        return functools.partial(_LOGICAL[schema.name], schema)
    if schema.type is Type.ARRAY:
        return functools.partial(_lists, _inner(schema.value_schema))
    if schema.type is Type.MAP:
        return functools.partial(_maps, _inner(schema.key_schema), _inner(schema.value_schema))
    if schema.type is Type.STRUCT:
        return _struct_writer(schema)
    return _PRIMITIVES[schema.type]


def _inner(schema: Schema | None) -> ColumnWriter:
    """Return the function that converts values within others, which may be null."""
    return functools.partial(_with_nulls, _schemaless if schema is None else _writer(schema))


def _with_nulls(write: ColumnWriter, values: Sequence[Any]) -> Any:
    """Return what `write` makes of the values that are not None, with null for those that are."""
    present = [value for value in values if value is not None]
    if len(present) == len(values):
        return write(values) if values else objects()
    column = write(present) if present else objects()
    places = iter(range(len(present)))
    return elements_at(column, [len(present) if value is None else next(places) for value in values])


def _by_kind(values: Sequence[Any], kinds: Sequence[Any], writer_of: Callable[[Any], ColumnWriter]) -> Any:
    """Return a column whose values are of several kinds; `writer_of` returns the function of one."""
    rows: dict[int, list[int]] = {}
    for row, kind in enumerate(kinds):
        rows.setdefault(id(kind), []).append(row)
    if len(rows) == 1:
        return writer_of(kinds[0])(values)
    if len(rows) > _MOST_KINDS:
        raise DataError("There are too many kinds of values")
    parts = java_class("java.util.ArrayList")()
    places = [0] * len(values)
    for of_kind in rows.values():
        for place, row in enumerate(of_kind, parts.size()):
            places[row] = place
        column = writer_of(kinds[of_kind[0]])([values[row] for row in of_kind])
        parts.addAll(java_class("java.util.Arrays").asList(column))
    return elements_at(parts.toArray(), places)


def _struct_writer(schema: Schema) -> ColumnWriter:
    java = java_schema(schema)
    fields = [(theirs, _writer(ours.schema)) for ours, theirs in zip(schema.fields, java.fields(), strict=True)]

    def write(values: Sequence[Any]) -> Any:
        functions, count = column_functions(), len(values)
        structs = functions.struct(count, java)
        columns = zip(*(each.field_values for each in values), strict=True)
        for (field, convert), column in zip(fields, columns, strict=True):
            rows = [row for row, value in enumerate(column) if value is not None]
            if len(rows) == count:
                functions.put_field(count, structs, field, convert(column))
            elif rows:
                present = convert([column[row] for row in rows])
                functions.put_field(len(rows), elements_at(structs, rows), field, present)
        return structs

    return write


def _numbers(array_of: Callable[[Sequence[Any]], Any], name: str, values: Sequence[Any]) -> Any:
    stream, function = column_functions().numbers[name]
    return stream(array_of(values)).mapToObj(function).toArray()


def _booleans(values: Sequence[Any]) -> Any:
    return _numbers(integers, "java.lang.Boolean", values)


def _milliseconds(schema: Schema, values: Sequence[Any]) -> Any:
    return _numbers(longs, "java.util.Date", [milliseconds(schema, value) for value in values])


def _texts(values: Sequence[Any]) -> Any:
    joined, ends = joined_texts(values)
    return _cut(column_functions().text, joined, ends)


def _bytes(values: Sequence[Any]) -> Any:
    copies = [*map(bytes, values)]
    return _cut(column_functions().bytes, joined_bytes(copies), [*accumulate(map(len, copies))])


def _decimals(schema: Schema, values: Sequence[Any]) -> Any:
    texts = _texts([decimal_text(value) for value in values])
    return java_class("java.util.Arrays").stream(texts).map(column_functions().decimal).toArray()


def _lists(elements: ColumnWriter, values: Sequence[Any]) -> Any:
    flat = java_class("java.util.Arrays").asList(elements([*chain.from_iterable(values)]))
    return _cut(column_functions().list, flat, [*accumulate(map(len, values))])


def _maps(keys: ColumnWriter, values: ColumnWriter, maps: Sequence[Any]) -> Any:
    functions, count = column_functions(), sum(map(len, maps))
    made = functions.map(len(maps))
    owners = [row for row, each in enumerate(maps) for _ in each]
    columns = keys([*chain.from_iterable(maps)]), values([*chain.from_iterable(each.values() for each in maps)])
    functions.put_entry(count, elements_at(made, owners), *columns)
    return made


def _cut(function: RowFunction, joined: Any, ends: list[int]) -> Any:
    """Return the parts of what is joined, by their ends."""
    return function(len(ends), joined, integers([0, *ends[:-1]]), integers(ends))


def _schemaless(values: Sequence[Any]) -> Any:
    """Return values that know their types only by their classes."""
    return _by_kind(values, [each.__class__ for each in values], _writer_of)


def _structs(values: Sequence[Any]) -> Any:
    """Return structs, each of a schema of its own."""
    return _by_kind(values, [each.schema for each in values], _writer)


@functools.cache
def _writer_of(cls: type) -> ColumnWriter:
    for ours, write in _SCHEMALESS:
        if issubclass(cls, ours):
            return write
    raise DataError(f"{cls.__name__} is no type of Connect data")


_LOGICAL: Final[Mapping[str | None, Callable[[Schema, Sequence[Any]], Any]]] = {
    DECIMAL: _decimals,
    DATE: _milliseconds,
    TIME: _milliseconds,
    TIMESTAMP: _milliseconds,
}
_PRIMITIVES: Final[Mapping[Type, ColumnWriter]] = {
    Type.INT8: functools.partial(_numbers, longs, "java.lang.Byte"),
    Type.INT16: functools.partial(_numbers, longs, "java.lang.Short"),
    Type.INT32: functools.partial(_numbers, longs, "java.lang.Integer"),
    Type.INT64: functools.partial(_numbers, longs, "java.lang.Long"),
    Type.FLOAT32: functools.partial(_numbers, doubles, "java.lang.Float"),
    Type.FLOAT64: functools.partial(_numbers, doubles, "java.lang.Double"),
    Type.BOOLEAN: _booleans,
    Type.STRING: _texts,
    Type.BYTES: _bytes,
}
_ANY: Final = functools.partial(_with_nulls, _schemaless)
_SCHEMALESS: Final[tuple[tuple[type | tuple[type, ...], ColumnWriter], ...]] = (
    (str, _texts),
    (bool, _booleans),
    (float, _PRIMITIVES[Type.FLOAT64]),
    (int, _PRIMITIVES[Type.INT64]),
    (Struct, _structs),
    (Mapping, functools.partial(_maps, _ANY, _ANY)),
    ((list, tuple), functools.partial(_lists, _ANY)),
    ((bytes, bytearray, memoryview), _bytes),
    (Decimal, functools.partial(_decimals, Schema(Type.BYTES, name=DECIMAL))),
    (datetime.datetime, functools.partial(_milliseconds, Schema.TIMESTAMP)),
    (datetime.date, functools.partial(_milliseconds, Schema.DATE)),
    (datetime.time, functools.partial(_milliseconds, Schema.TIME)),
)
