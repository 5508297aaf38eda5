# SPDX-License-Identifier: Apache-2.0
"""A polled Arrow table as one record, whose data are columns; and the records and arrays that it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

from headrace.api.data_column import DataColumn, StructColumn, array_of, data_column
from headrace.api.errors import DataError
from headrace.api.headers import Header, Headers
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ColumnRecord:
    """All records of ``table``, which have one topic, as one ``record``.

    Each key, value, partition, timestamp and header in it is a column or, if all records share it, a plain value.
    Source partitions and offsets are not part of it.
    """

    table: pa.Table
    record: SourceRecord

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def with_record(self, record: SourceRecord) -> ColumnRecord:
        return replace(self, record=record)

    def records(self) -> list[SourceRecord]:
        """Return the records one by one. DataError if a column has another length."""
        from headrace.api.arrow import SOURCE_OFFSET, SOURCE_PARTITION
        from headrace.api.arrow_records import plain_values

        shared = self.record
        records = list(
            map(
                SourceRecord,
                plain_values(self.table, SOURCE_PARTITION),
                plain_values(self.table, SOURCE_OFFSET),
                repeat(shared.topic, self.rows),
                _singly(shared.kafka_partition),
                repeat(shared.key_schema),
                _singly(shared.key),
                repeat(shared.value_schema),
                _singly(shared.value),
                _singly(shared.timestamp),
                self.headers(),
            )
        )
        if len(records) != self.rows:
            raise DataError(f"{len(records)} records were made of a table's {self.rows}: a transformation cut a column")
        return records

    def key(self) -> pa.Array:
        """Return the keys as an Arrow array. Errors as ``value``."""
        return _array(self.record.key_schema, self.record.key, self.rows)

    def value(self) -> pa.Array:
        """Return the values as an Arrow array.

        DataError for values without a schema, and for structs without fields.
        """
        return _array(self.record.value_schema, self.record.value, self.rows)

    @property
    def shares_headers(self) -> bool:
        """Return True if all records have the same headers."""
        return not any(isinstance(header.value, DataColumn) for header in self.record.headers)

    def headers(self) -> Iterable[Headers | None]:
        """Iterate over the headers of single records; endless if none has any."""
        if not self.record.has_headers:
            return repeat(None)
        if self.shares_headers:
            return (self.record.headers.duplicate() for _ in range(self.rows))
        shared = list(self.record.headers)
        rows = zip(*(_singly(header.value) for header in shared), strict=False)
        return (Headers([Header(h.key, value, h.schema) for h, value in zip(shared, row, strict=True)]) for row in rows)

    def partitions(self) -> list[int | None] | None:
        return _integers(self.record.kafka_partition, self.rows)

    def timestamps(self) -> list[int | None] | None:
        return _integers(self.record.timestamp, self.rows)


def column_record(table: pa.Table) -> ColumnRecord | None:
    """Return a polled table as one record; None if its records differ in more than data, or have headers.

    None also if a key or value is null, as it has no schema then, and for a null in a required field. DataError as
    ``validate_table``.
    """
    from headrace.api.arrow import HEADERS, KEY, PARTITION, TIMESTAMP, VALUE, millis, topics_of, validate_table

    validate_table(table)
    topics = topics_of(table)
    if HEADERS in table.column_names or len(topics) != 1:
        return None
    try:
        key, value = _data(table, KEY), _data(table, VALUE)
    except DataError:
        return None
    if value is None or (key is None and KEY in table.column_names):
        return None
    return ColumnRecord(
        table,
        SourceRecord(
            None,
            None,
            topics[0],
            _metadata(table, PARTITION, Schema.OPTIONAL_INT32, _unchanged),
            key.schema if key is not None else None,
            key,
            value.schema,
            value,
            _metadata(table, TIMESTAMP, Schema.OPTIONAL_INT64, millis),
        ),
    )


def _data(table: pa.Table, name: str) -> DataColumn | StructColumn | None:
    from headrace.api.arrow import decoded, schema_of

    if name not in table.column_names:
        return None
    column = decoded(table.column(name))
    schema = schema_of(column.type, name)
    return None if schema is None or column.null_count else data_column(schema, _combined(column))


def _metadata(table: pa.Table, name: str, schema: Schema, prepare: Any) -> Any:
    from headrace.api.arrow import decoded

    if name not in table.column_names:
        return None
    column = decoded(prepare(table.column(name)))
    return None if column.null_count == len(column) else DataColumn(schema, _combined(column))


def _combined(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _unchanged(column: Any) -> Any:
    return column


def _singly(data: Any) -> Iterable[Any]:
    """Iterate over the values of single records; endless if all share one."""
    from headrace.api.arrow_records import data_values

    if isinstance(data, (DataColumn, StructColumn)):
        return data_values(data.schema, data.values)
    if isinstance(data, Struct):
        rows = zip(*map(_singly, data.field_values), strict=False) if data.field_values else repeat(())
        return (Struct.of_valid(data.schema, list(row)) for row in rows)
    return repeat(data)


def _array(schema: Schema | None, data: Any, rows: int) -> pa.Array:
    import pyarrow as pa

    if isinstance(data, (DataColumn, StructColumn)):
        return data.values
    if schema is None:
        raise DataError("data without a schema is not a column")
    if not isinstance(data, Struct):
        return pa.repeat(array_of(schema, [data])[0], rows)
    if not data.schema.fields:
        raise DataError("a struct without fields is not a column")
    fields = data.schema.fields
    arrays = [_array(field.schema, value, rows) for field, value in zip(fields, data.field_values, strict=True)]
    types = [pa.field(f.name, array.type, f.schema.optional) for f, array in zip(fields, arrays, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=types)


def _integers(data: Any, rows: int) -> list[int | None] | None:
    if data is None:
        return None
    values: Sequence[int | None] = data.values.to_pylist() if isinstance(data, DataColumn) else [data] * rows
    return list(values)
