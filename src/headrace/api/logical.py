# SPDX-License-Identifier: Apache-2.0
"""Conversion of logical types to and from their stored types: decimals as bytes, dates and times as integers.

As Java's `Decimal`, `Date`, `Time` and `Timestamp`: a decimal is its unscaled value as big-endian two's complement, a
date counts days and a timestamp milliseconds since 1970-01-01 UTC, a time of day counts milliseconds.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from headrace.api.schema_builder import SCALE_PARAMETER

MILLIS_PER_DAY: Final = 86_400_000
_EPOCH_DAY: Final = datetime.date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)
_EXACT: Final = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def is_logical(schema: Schema) -> bool:
    """Return True if the schema has the name of a logical type."""
    return schema.name in _FROM


def from_logical(schema: Schema, value: Any) -> Any:
    """Return the stored form (bytes or int) of a logical value. Raise DataError if it does not fit `schema`."""
    return _converter(_FROM, schema)(schema, value)


def to_logical(schema: Schema, stored: Any) -> Any:
    """Return the logical value of a stored form. Raise DataError if it does not fit `schema`."""
    return _converter(_TO, schema)(schema, stored)


def _converter(table: Mapping[str, Callable[[Schema, Any], Any]], schema: Schema) -> Callable[[Schema, Any], Any]:
    converter = table.get(schema.name) if schema.name is not None else None
    if converter is None:
        raise DataError(f"{schema} is not the schema of a logical type")
    return converter


def scale_of(value: decimal.Decimal) -> int:
    """Return the scale of a decimal: the number of digits after the point; negative for an exponent above zero."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise DataError(f"{value} is not a number")
    return -exponent


def schema_scale(schema: Schema) -> int:
    """Return the scale of a decimal schema."""
    text = (schema.parameters or {}).get(SCALE_PARAMETER)
    if text is None:
        raise DataError("Invalid Decimal schema: no scale parameter found")
    try:
        return int(text)
    except ValueError as error:
        raise DataError(f"Invalid scale parameter '{text}' found in Decimal schema") from error


def unscaled_bytes(unscaled: int) -> bytes:
    """Return an integer as the shortest big-endian two's complement."""
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length()
    return unscaled.to_bytes(bits // 8 + 1, "big", signed=True)


def make_decimal(unscaled: int, scale: int) -> decimal.Decimal:
    """Return `unscaled` / 10**`scale`, exactly and with that scale."""
    return decimal.Decimal(unscaled).scaleb(-scale, _EXACT)


def _decimal_from(schema: Schema, value: decimal.Decimal) -> bytes:
    scale, wanted = scale_of(value), schema_scale(schema)
    if scale != wanted:
        raise DataError(
            f"Decimal value has mismatching scale for given Decimal schema. Schema has scale {wanted}, value has scale"
            f" {scale}."
        )
    return unscaled_bytes(int(value.scaleb(scale, _EXACT)))


def _decimal_to(schema: Schema, stored: bytes) -> decimal.Decimal:
    if not len(stored):
        raise DataError("A decimal cannot be made of zero bytes")
    return make_decimal(int.from_bytes(stored, "big", signed=True), schema_scale(schema))


def _date_from(schema: Schema, value: datetime.date) -> int:
    if isinstance(value, datetime.datetime):
        raise DataError(f"A date must have no time of day: {value}")
    return value.toordinal() - _EPOCH_DAY


def _date_to(schema: Schema, stored: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(stored + _EPOCH_DAY)
    except (ValueError, OverflowError) as error:
        raise DataError(f"Date {stored} (days since 1970-01-01) is outside the years 1 to 9999") from error


def _time_from(schema: Schema, value: datetime.time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _time_to(schema: Schema, stored: int) -> datetime.time:
    if not 0 <= stored < MILLIS_PER_DAY:
        raise DataError(f"Time values must be milliseconds from 0 and less than {MILLIS_PER_DAY}, not {stored}")
    seconds, millis = divmod(stored, 1000)
    minutes, second = divmod(seconds, 60)
    return datetime.time(minutes // 60, minutes % 60, second, millis * 1000)


def _timestamp_from(schema: Schema, value: datetime.datetime) -> int:
    aware = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value
    return (aware - _EPOCH) // _MILLISECOND


def _timestamp_to(schema: Schema, stored: int) -> datetime.datetime:
    try:
        return _EPOCH + stored * _MILLISECOND
    except OverflowError as error:
        raise DataError(f"Timestamp {stored} (ms since 1970) is outside the years 1 to 9999") from error


_FROM: Final[Mapping[str, Callable[[Schema, Any], Any]]] = {
    DECIMAL: _decimal_from,
    DATE: _date_from,
    TIME: _time_from,
    TIMESTAMP: _timestamp_from,
}
_TO: Final[Mapping[str, Callable[[Schema, Any], Any]]] = {
    DECIMAL: _decimal_to,
    DATE: _date_to,
    TIME: _time_to,
    TIMESTAMP: _timestamp_to,
}
