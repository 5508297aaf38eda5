# SPDX-License-Identifier: Apache-2.0
"""Conversion to numbers for `headrace.api.values`, by the rules of Java's `Number` and `BigDecimal`."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.java_text import to_float32
from headrace.api.logical import from_logical
from headrace.api.schema import DATE, TIME, TIMESTAMP, Schema

LONG_MIN: Final = -(1 << 63)
LONG_MAX: Final = (1 << 63) - 1
_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?)(\d+))?")
_EXPONENT_DIGITS: Final = 10
_MOMENTS: Final = (DATE, TIME, TIMESTAMP)


def cannot_convert(value: Any, target: Any) -> DataError:
    """Return the error for a `value` that cannot be converted to `target`."""
    return DataError(f"Unable to convert {value!r} ({type(value).__name__}) to {target}")


def big_decimal(text: str) -> decimal.Decimal | None:
    """Return the decimal that Java's `BigDecimal` parses `text` to, exactly and with its scale; None if it fails."""
    match = _NUMBER.fullmatch(text)
    # A digit beyond the basic plane is two chars in Java, neither of them a digit.
    if match is None or max(text) > "\uffff":
        return None
    fraction = len(match[1] or match[2] or "")
    digits = (match[4] or "0").lstrip("0") or "0"
    if len(digits) > _EXPONENT_DIGITS:
        return None
    scale = fraction - (-int(digits) if match[3] == "-" else int(digits))
    if not -(1 << 31) <= scale < 1 << 31:
        return None
    number = decimal.Decimal(text)
    return number if number else number.copy_abs()  # Java's decimals have no negative zero


def wrapped(number: int, bits: int) -> int:
    """Return the low `bits` of an integer as a signed number: Java's narrowing cast."""
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


def nearest_float32(number: decimal.Decimal) -> float:
    """Return the float32 nearest to a decimal, rounded once; infinite beyond the range."""
    near = float(number)
    exact = decimal.Decimal(near)
    if math.isinf(near) or exact == number:
        return to_float32(near)
    # The double is rounded to odd, so that rounding it to a float32 never sees a tie that is none.
    if int(math.ldexp(math.frexp(near)[0], 53)) % 2 == 0:
        near = math.nextafter(near, math.inf if number > exact else -math.inf)
    return to_float32(near)


def as_long(schema: Schema | None, value: Any) -> int:
    """Return `value` as a 64-bit integer: fractions are cut off, larger numbers wrap (floats stay at the limit).

    Text is parsed as a decimal. Dates and times become their stored form if `schema` is theirs. Raise DataError for
    everything else.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return wrapped(value, 64)
    if isinstance(value, float):
        return _long_of_float(value)
    number = _decimal_of(value)
    if number is not None:
        return _long_of_decimal(number)
    if schema is not None and schema.name in _MOMENTS and isinstance(value, (datetime.date, datetime.time)):
        schema.validate_value(value)
        stored: int = from_logical(schema, value)
        return stored
    raise cannot_convert(value, "a number")


def as_double(schema: Schema | None, value: Any) -> float:
    """Return `value` as a double; otherwise as `as_long`."""
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    number = _decimal_of(value)
    return float(number) if number is not None else float(as_long(schema, value))


def _decimal_of(value: Any) -> decimal.Decimal | None:
    if isinstance(value, str):
        return big_decimal(value)
    return value if isinstance(value, decimal.Decimal) and value.is_finite() else None


def _long_of_float(value: float) -> int:
    if value != value:
        return 0
    return max(LONG_MIN, min(LONG_MAX, int(max(-1e19, min(1e19, value)))))


def _long_of_decimal(number: decimal.Decimal) -> int:
    exponent = number.as_tuple().exponent
    # 10**64 is a multiple of 2**64, so the result is 0; this also avoids expanding a short text to a million digits.
    if number.adjusted() < 0 or (isinstance(exponent, int) and exponent >= 64):
        return 0
    return wrapped(int(number), 64)
