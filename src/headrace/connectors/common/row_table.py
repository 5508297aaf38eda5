# SPDX-License-Identifier: Apache-2.0
"""Rows with columns as the Arrow table of records that a source task polls. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headrace.api import arrow


def row_table(
    rows: pa.Table,
    topic: str,
    keys: Sequence[str],
    partition: Mapping[str, Any],
    offset: Mapping[str, Any] | None,
    value: str | None = None,
) -> pa.Table:
    """Return one record for each row. `headrace.api.arrow` documents the columns.

    Values are structs of all columns, or the values of column `value`. The key is the value of one column, a struct of
    several, null for none. Without `offset` the records have no source offset.
    """
    count = rows.num_rows
    columns = {
        arrow.TOPIC: arrow.constant(topic, count, pa.string()),
        arrow.VALUE: _struct(rows, rows.column_names) if value is None else rows.column(value),
    }
    if keys:
        columns[arrow.KEY] = rows.column(keys[0]) if len(keys) == 1 else _struct(rows, keys)
    if offset is not None:
        columns[arrow.SOURCE_PARTITION] = arrow.constant(dict(partition), count, _type(partition))
        columns[arrow.SOURCE_OFFSET] = arrow.constant(dict(offset), count, _type(offset))
    return pa.table(columns)


def _struct(rows: pa.Table, names: Sequence[str]) -> pa.Array:
    whole = rows.select(names).combine_chunks()
    columns = [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns]
    return pa.StructArray.from_arrays(columns, fields=list(whole.schema))


def _type(data: Mapping[str, Any]) -> pa.DataType:
    """Return the type of a struct of text, whole numbers and booleans."""
    return pa.struct([(name, pa.scalar(value).type) for name, value in data.items()])
