# SPDX-License-Identifier: Apache-2.0
"""Arrow tables as returned by `SourceTask.poll`: one row per record, no Python object per record.

======================  ==============================================================================================
column                  meaning
======================  ==============================================================================================
`value` (required)      the record's value, of any type; text and bytes are the fast case. Null is a tombstone.
`key`                   the record's key, of any type
`topic` (required)      text, never null
`partition`             int32: the Kafka partition; null leaves it to the partitioner
`timestamp`             int64 (ms since the epoch) or timestamp of any unit; null for none
`headers`               map of text to any type, or list of structs of `key` (text) and `value`
`source_partition`      struct of text, numbers and booleans as `SourceRecord` defines; null stores nothing
`source_offset`         struct of text, numbers and booleans as `SourceRecord` defines; null forgets the offset
======================  ==============================================================================================

Every column but `headers` may be dictionary- or run-end-encoded; `constant` makes a column of one repeated value that
takes no space. `source_partition` and `source_offset` come together or not at all::

    def poll(self) -> pa.Table:
        lines = self._read_lines()
        topic = constant(self._topic, len(lines))
        return pa.table({"value": lines, "topic": topic})

Rows are written in order. For each distinct source partition the source offset of its last row is committed, in the
same transaction as the rows. `SourceTask.commit` is called as for records, `commit_record` is not. Where
transformations, or a converter without a columnar path, need records, `arrow_records` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from headrace.api.errors import DataError
from headrace.api.schema import Schema
from headrace.api.schema_builder import SchemaBuilder

if TYPE_CHECKING:
    import pyarrow as pa

VALUE: Final = "value"
KEY: Final = "key"
TOPIC: Final = "topic"
PARTITION: Final = "partition"
OFFSET: Final = "offset"
TIMESTAMP: Final = "timestamp"
HEADERS: Final = "headers"
SOURCE_PARTITION: Final = "source_partition"
SOURCE_OFFSET: Final = "source_offset"
COLUMNS: Final = (VALUE, KEY, TOPIC, PARTITION, TIMESTAMP, HEADERS, SOURCE_PARTITION, SOURCE_OFFSET)
REQUIRED_COLUMNS: Final = (VALUE, TOPIC)


def constant(value: Any, length: int, type: pa.DataType | None = None) -> pa.RunEndEncodedArray:
    """Return a column that repeats `value` `length` times in the space of one.

    `type` is the Arrow type of the value; inferred if None.
    """
    import pyarrow as pa

    runs = 1 if length else 0
    values = pa.array([value], type=type).slice(0, runs)
    return pa.RunEndEncodedArray.from_arrays(pa.array([length], pa.int32()).slice(0, runs), values)


def logical_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values, beneath any dictionary or run-end encoding."""
    import pyarrow as pa

    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return kind


def decoded(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the column without dictionary or run-end encoding; the column itself if it has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        kind = logical_type(column.type)
        return column if kind == column.type else pa.chunked_array([decoded(c) for c in column.chunks], type=kind)
    while True:
        if pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        elif pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        else:
            return column


def validate_table(table: pa.Table) -> None:
    """Raise DataError, naming the column, unless the table has the columns documented above.

    Looks at types only, and at whether a topic is null.
    """
    for name in table.column_names:
        if name not in COLUMNS:
            raise DataError(f"Column '{name}' of a polled Arrow table is not known; known are: {', '.join(COLUMNS)}")
        if table.column_names.count(name) > 1:
            raise DataError(f"Column '{name}' occurs more than once in a polled Arrow table")
    for name in REQUIRED_COLUMNS:
        if name not in table.column_names:
            raise DataError(f"Column '{name}' is missing in a polled Arrow table")
    if (SOURCE_PARTITION in table.column_names) != (SOURCE_OFFSET in table.column_names):
        raise DataError(f"Columns '{SOURCE_PARTITION}' and '{SOURCE_OFFSET}' must come together")
    for name in table.column_names:
        _validate_type(name, logical_type(table.column(name).type))
    if _has_nulls(table.column(TOPIC)):
        raise DataError(f"Column '{TOPIC}' of a polled Arrow table holds a null")


def _has_nulls(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    def count(chunk: Any) -> int:
        if pa.types.is_run_end_encoded(chunk.type):
            return count(chunk.values)
        if pa.types.is_dictionary(chunk.type):
            return int(chunk.null_count + count(chunk.dictionary))
        return int(chunk.null_count)

    return any(count(chunk) for chunk in column.chunks)


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _validate_type(name: str, kind: pa.DataType) -> None:
    import pyarrow as pa

    wanted: dict[str, tuple[Callable[[Any], bool], str]] = {
        TOPIC: (_is_text, "text"),
        PARTITION: (pa.types.is_int32, "int32"),
        TIMESTAMP: (lambda t: pa.types.is_int64(t) or pa.types.is_timestamp(t), "int64 or timestamp"),
        HEADERS: (_is_headers, "a map of text, or a list of structs of key and value"),
        SOURCE_PARTITION: (pa.types.is_struct, "a struct"),
        SOURCE_OFFSET: (pa.types.is_struct, "a struct"),
    }
    if name in wanted:
        check, words = wanted[name]
        if not check(kind):
            raise DataError(f"Column '{name}' of a polled Arrow table must be {words}, but is {kind}")
    else:
        schema_of(kind, name)


def _is_headers(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_map(kind):
        return _is_text(kind.key_type)
    if not (pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)):
        return False
    return [field.name for field in kind.value_type] == ["key", "value"] and _is_text(kind.value_type.field(0).type)


@lru_cache(maxsize=256)  # caches by schema compare by identity first, so each type keeps one schema object
def schema_of(kind: pa.DataType, column: str, optional: bool = False) -> Schema | None:
    """Return the Connect schema of an Arrow type; None for the null type.

    Raise DataError, naming the column, for a type that Connect data cannot hold.

    text → STRING, binary → BYTES, signed integers → the same width, unsigned ones → the next wider, half and float →
    FLOAT32, double → FLOAT64, decimals → Decimal, dates, times and timestamps → Date, Time, Timestamp, list → ARRAY,
    map → MAP, struct → STRUCT. Fields and elements that may be null are optional.
    """
    if str(kind) == "null":
        return None
    builder = _builder(logical_type(kind), column)
    return (builder.optional() if optional else builder).build()


def _builder(kind: pa.DataType, column: str) -> SchemaBuilder:
    import pyarrow as pa

    kinds = pa.types
    if _is_text(kind):
        return SchemaBuilder.string()
    if (
        kinds.is_binary(kind)
        or kinds.is_large_binary(kind)
        or kinds.is_fixed_size_binary(kind)
        or kinds.is_binary_view(kind)
    ):
        return SchemaBuilder.bytes()
    if kinds.is_decimal(kind):
        return SchemaBuilder.decimal(kind.scale)
    if kinds.is_date(kind):
        return SchemaBuilder.date()
    if kinds.is_time(kind):
        return SchemaBuilder.time()
    if kinds.is_timestamp(kind):
        return SchemaBuilder.timestamp()
    if kinds.is_struct(kind):
        struct = SchemaBuilder.struct()
        for field in kind:
            struct.field(field.name, _inner(field, f"{column}.{field.name}"))
        return struct
    if kinds.is_map(kind):
        return SchemaBuilder.map(_inner(kind.key_field, f"{column}.key"), _inner(kind.item_field, f"{column}.value"))
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        return SchemaBuilder.array(_inner(kind.value_field, f"{column}[]"))
    builder = _PRIMITIVES.get(str(kind))
    if builder is None:
        raise DataError(f"Column '{column}' of a polled Arrow table is of type {kind}, which Connect data cannot hold")
    return builder()


_PRIMITIVES: Final[dict[str, Callable[[], SchemaBuilder]]] = {
    "bool": SchemaBuilder.boolean,
    "int8": SchemaBuilder.int8,
    "int16": SchemaBuilder.int16,
    "int32": SchemaBuilder.int32,
    "int64": SchemaBuilder.int64,
    "uint8": SchemaBuilder.int16,
    "uint16": SchemaBuilder.int32,
    "uint32": SchemaBuilder.int64,
    "halffloat": SchemaBuilder.float32,
    "float": SchemaBuilder.float32,
    "double": SchemaBuilder.float64,
}


def _inner(field: pa.Field, where: str) -> Schema:
    schema = schema_of(field.type, where, field.nullable)
    if schema is None:
        raise DataError(f"Column '{where}' of a polled Arrow table is of type null, which Connect data cannot hold")
    return schema


def last_offsets(table: pa.Table) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Return the offsets to commit with a valid table: each distinct source partition with its last source offset."""
    if SOURCE_PARTITION not in table.column_names:
        return []
    offsets = table.column(SOURCE_OFFSET)
    return [(partition, offsets[row].as_py()) for partition, row in _last_rows(table.column(SOURCE_PARTITION))]


def _last_rows(partitions: pa.ChunkedArray) -> list[tuple[dict[str, Any], int]]:
    """Return the distinct source partitions with the last row of each, in the order of those rows."""
    import pyarrow as pa

    last: dict[tuple[Any, ...], tuple[dict[str, Any], int]] = {}
    start = 0
    for chunk in partitions.chunks:
        found = runs(chunk) if pa.types.is_run_end_encoded(chunk.type) else _distinct(decoded(chunk))
        for partition, row in found:
            if partition is not None:
                key = tuple(partition.items())
                last.pop(key, None)
                last[key] = (partition, start + row)
        start += len(chunk)
    return list(last.values())


def runs(chunk: pa.RunEndEncodedArray) -> Iterator[tuple[dict[str, Any] | None, int]]:
    """Iterate over the value and the last row of each run."""
    first = chunk.find_physical_offset()
    for index in range(first, first + chunk.find_physical_length()):
        end = chunk.run_ends[index].as_py() - chunk.offset
        yield chunk.values[index].as_py(), min(end, len(chunk)) - 1


def _distinct(chunk: pa.StructArray) -> list[tuple[dict[str, Any] | None, int]]:
    """Return each distinct struct with its last row, in the order of those rows."""
    import numpy as np
    import pyarrow as pa

    names = [f"field{index}" for index in range(chunk.type.num_fields)]
    columns = [chunk.is_null(), *chunk.flatten()]
    rows = pa.table([*columns, pa.array(np.arange(len(chunk)))], ["null", *names, "row"])
    found = rows.group_by(["null", *names]).aggregate([("row", "max")]).column("row_max").to_pylist()
    return [(chunk[row].as_py(), row) for row in sorted(found)]


def tables_by_topic(table: pa.Table) -> list[tuple[str, pa.Table]]:
    """Return the rows of each topic, in order; topics in the order of their first row.

    `partition` and `timestamp` come without encoding, the latter as int64 ms; other columns may keep the encoding that
    they were polled with. Raise DataError as `validate_table` does.
    """
    import pyarrow.compute as pc

    validate_table(table)
    topics = topics_of(table)
    if len(topics) > 1:
        for index, name in enumerate(table.column_names):
            table = table.set_column(index, name, decoded(table.column(name)))
    if PARTITION in table.column_names:
        table = table.set_column(table.column_names.index(PARTITION), PARTITION, decoded(table.column(PARTITION)))
    if TIMESTAMP in table.column_names:
        table = table.set_column(table.column_names.index(TIMESTAMP), TIMESTAMP, millis(table.column(TIMESTAMP)))
    if len(topics) == 1:
        return [(topics[0], table)]
    return [(topic, table.filter(pc.equal(table.column(TOPIC), topic))) for topic in topics]


def topics_of(table: pa.Table) -> list[str]:
    """Return the distinct topics of a valid table, in the order of their first row."""
    import pyarrow as pa

    found: dict[str, None] = {}
    for chunk in table.column(TOPIC).chunks:
        if pa.types.is_run_end_encoded(chunk.type):
            chunk = chunk.values.slice(chunk.find_physical_offset(), chunk.find_physical_length())
        found.update(dict.fromkeys(decoded(chunk).unique().to_pylist()))
    return list(found)


def millis(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the timestamps as int64, in ms since the epoch; finer ones are rounded down."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = decoded(column)
    if not pa.types.is_timestamp(column.type):
        return column
    whole = pc.floor_temporal(column, unit="millisecond")
    return whole.cast(pa.timestamp("ms", column.type.tz)).cast(pa.int64())
