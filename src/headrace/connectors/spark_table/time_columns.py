# SPDX-License-Identifier: Apache-2.0
"""Timestamps and times of day of a table's rows, in the form that records have them. Pure.

Connect's own types have milliseconds. `timestamp.granularity`, named as in Confluent's JDBC source, keeps the six
digits that Spark has, as numbers or text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

GRANULARITY: Final = "timestamp.granularity"
LOGICAL: Final = "connect_logical"
_MICROS: Final = pa.timestamp("us")


def times_of_day(fields: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """Return the columns of Spark's schema that are times of day in the database; Spark reads them as timestamps."""
    return frozenset(name for name, field in fields.items() if field.get("metadata", {}).get("logical_time_type"))


def for_records(rows: pa.Table, times: Collection[str], granularity: str) -> pa.Table:
    """Return the rows with ``times`` as Connect's Time, and other columns of timestamps in the granularity."""
    convert = GRANULARITIES[granularity]
    for index, field in enumerate(rows.schema):
        if not pa.types.is_timestamp(field.type):
            continue
        change = _time_of_day if field.name in times else convert
        if change is not None:
            column = change(rows.column(index))
            rows = rows.set_column(index, pa.field(field.name, column.type, field.nullable), column)
    return rows


def _time_of_day(column: pa.ChunkedArray) -> pa.ChunkedArray:
    instants = _without_zone(column)
    days = pc.floor_temporal(instants, unit="day")
    millis = pc.divide(pc.subtract(instants.cast(pa.int64()), days.cast(pa.int64())), 1000)
    return millis.cast(pa.int32()).cast(pa.time32("ms"))


def _number(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return _without_zone(column).cast(pa.int64())


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return ISO 8601 with six digits; that of a column with a zone is in UTC and ends with Z."""
    text = pc.replace_substring(_without_zone(column).cast(pa.string()), " ", "T")
    return text if column.type.tz is None else pc.binary_join_element_wise(text, "Z", "")


def _without_zone(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the same microseconds; a calculation in a zone would need the machine's time zones."""
    return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).cast(_MICROS)


GRANULARITIES: Final[Mapping[str, Callable[[pa.ChunkedArray], pa.ChunkedArray] | None]] = {
    LOGICAL: None,
    "micros_long": _number,
    "micros_iso_datetime_string": _text,
}
"""The conversion of a column for each value of `timestamp.granularity`; None keeps Connect's Timestamp."""
