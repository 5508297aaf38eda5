# SPDX-License-Identifier: Apache-2.0
"""Records of a polled Arrow table, for transformations and for converters that have no columnar path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from headrace.api.arrow import (
    HEADERS,
    KEY,
    PARTITION,
    SOURCE_OFFSET,
    SOURCE_PARTITION,
    TIMESTAMP,
    TOPIC,
    VALUE,
    decoded,
    millis,
    runs,
    schema_of,
    validate_table,
)
from headrace.api.headers import Header, Headers
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct

if TYPE_CHECKING:
    import pyarrow as pa


def table_to_records(table: pa.Table) -> list[SourceRecord]:
    """Return one record per row. Raise DataError as `validate_table` does.

    A null key or value is None without a schema, so that it becomes a Kafka null with every converter.
    """
    validate_table(table)
    key_schemas, keys = _data(table, KEY)
    value_schemas, values = _data(table, VALUE)
    timestamps = millis(table.column(TIMESTAMP)).to_pylist() if TIMESTAMP in table.column_names else repeat(None)
    # Missing columns repeat None endlessly; the length of `topic` ends the rows.
    return list(
        map(
            SourceRecord,
            plain_values(table, SOURCE_PARTITION),
            plain_values(table, SOURCE_OFFSET),
            plain_values(table, TOPIC),
            plain_values(table, PARTITION),
            key_schemas,
            keys,
            value_schemas,
            values,
            timestamps,
            _headers(table),
        )
    )


def plain_values(table: pa.Table, name: str) -> Iterable[Any]:
    """Iterate over the Python form that pyarrow gives a column's values; over endless None if it is missing."""
    if name not in table.column_names:
        return repeat(None)
    return chain.from_iterable(map(_values, table.column(name).chunks))


def _values(chunk: pa.Array) -> Iterable[Any]:
    """Iterate over the rows' values; the rows of a run share one object."""
    import pyarrow as pa

    if pa.types.is_run_end_encoded(chunk.type):
        return _repeated(chunk)
    chunk = decoded(chunk)
    if not pa.types.is_struct(chunk.type) or chunk.null_count or not chunk.type.num_fields:
        return list(chunk.to_pylist())
    # pyarrow makes a scalar of each struct; by fields it is several times quicker.
    names = [field.name for field in chunk.type]
    return [dict(zip(names, row, strict=True)) for row in zip(*map(_values, chunk.flatten()), strict=True)]


def _repeated(chunk: pa.RunEndEncodedArray) -> Iterator[Any]:
    start = 0
    for value, last in runs(chunk):
        yield from repeat(value, last + 1 - start)
        start = last + 1


def _data(table: pa.Table, name: str) -> tuple[Iterable[Schema | None], Iterable[Any]]:
    """Return the rows' schemas and their values."""
    nothing: tuple[Iterable[None], Iterable[None]] = repeat(None), repeat(None)
    if name not in table.column_names:
        return nothing
    column = decoded(table.column(name))
    schema = schema_of(column.type, name)
    if schema is None:
        return nothing
    values = data_values(schema, column)
    if not column.null_count:
        return repeat(schema), values
    return [None if value is None else schema for value in values], values


def data_values(schema: Schema, column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as Connect data of a schema that fits its type; None for null."""
    convert = _optional(_from_python(schema))
    values: list[Any] = decoded(column).to_pylist()
    return values if convert is _identity else [convert(value) for value in values]


def _headers(table: pa.Table) -> Iterable[Headers | None]:
    import pyarrow as pa

    if HEADERS not in table.column_names:
        return repeat(None)
    column = table.column(HEADERS)
    kind = column.type.item_type if pa.types.is_map(column.type) else column.type.value_type.field(1).type
    schema = schema_of(kind, HEADERS)
    convert = _identity if schema is None else _from_python(schema)

    def header(key: str, value: Any) -> Header:
        return Header(key, None, None) if value is None else Header(key, convert(value), schema)

    def row(entries: Any) -> Headers | None:
        if not entries:
            return None
        pairs = entries if isinstance(entries[0], tuple) else [(entry["key"], entry["value"]) for entry in entries]
        return Headers(header(key, value) for key, value in pairs)

    return map(row, column.to_pylist())


def _identity(value: Any) -> Any:
    return value


def _from_python(schema: Schema) -> Callable[[Any], Any]:
    """Return the function from pyarrow's Python form of a value, never None, to Connect data of `schema`."""
    if schema.fields:
        fields = [(field.name, _optional(_from_python(field.schema))) for field in schema.fields]
        return lambda value: Struct(schema, {name: convert(value[name]) for name, convert in fields})
    if schema.key_schema is not None and schema.value_schema is not None:
        to_key, to_value = _from_python(schema.key_schema), _optional(_from_python(schema.value_schema))
        return lambda pairs: {to_key(key): to_value(value) for key, value in pairs}
    if schema.value_schema is not None:
        element = _optional(_from_python(schema.value_schema))
        return lambda values: [element(value) for value in values]
    return _identity


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return convert if convert is _identity else lambda value: None if value is None else convert(value)
