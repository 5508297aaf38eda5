# SPDX-License-Identifier: Apache-2.0
"""Casts of single values between types, as in Java: numbers wrap or saturate, text is parsed and formatted."""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace.api import values
from headrace.api.errors import DataError
from headrace.api.java_text import double_text, float_text, to_float32
from headrace.api.logical import from_logical, is_logical
from headrace.api.schema import DECIMAL, INTEGER_BITS, Schema, Type

Cast = Callable[[Any], Any]

_MOST_DIGITS: Final = 4000
_INTEGER: Final = re.compile(r"[+-]?\d+")
# Java trims all characters up to the space, and accepts the suffixes of its literals.
_TRIMMED: Final = "".join(map(chr, range(33)))
_DECIMAL: Final = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL: Final = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_NOT_FINITE: Final[Mapping[str, float]] = {
    sign + name: float(sign + name) for sign in ("", "+", "-") for name in ("NaN", "Infinity")
}
_LONG_LIMIT: Final = 1 << 63
_LONG_MIN: Final = -_LONG_LIMIT
_INT_LIMIT: Final = 1 << 31


class Casts(dict[type, Cast]):
    """The casts to the type `target`, by the Python type of the value: `casts[type(value)](value)`."""

    def __init__(self, target: Type, ways: Mapping[type, Cast]) -> None:
        super().__init__(ways)
        self._target = target

    def cast(self, value: Any) -> Any:
        """Return the value as one of the target's type; None stays None."""
        return None if value is None else self[value.__class__](value)

    def __missing__(self, kind: type) -> Cast:
        for base in kind.__mro__[1:]:
            if base in self:
                self[kind] = self[base]
                return self[base]
        raise DataError(f"a value of type {kind.__name__} cannot be cast to {self._target.value}")


def casts_to(target: Type, schema: Schema | None) -> Casts:
    """Return the casts of values with this schema (None: without one) to `target`, one of `TARGETS`."""
    ways = dict(_WAYS[target])
    if schema is not None:
        ways[int] = _INTEGER_WAYS.get(target, ways[int])  # no schema allows more than 64 bits
        ways[decimal.Decimal] = _DECIMAL_WAYS[target]
        if schema.type is Type.FLOAT32 and target is Type.STRING:
            ways[float] = float_text
        if is_logical(schema) and schema.name != DECIMAL:
            way = _logical_way(schema, target, ways[int])
            ways.update({kind: way for kind in (datetime.date, datetime.time, datetime.datetime)})
    return Casts(target, ways)


def _logical_way(schema: Schema, target: Type, from_integer: Cast) -> Cast:
    if target is Type.STRING:
        return lambda value: values.convert_to_string(schema, value)
    return lambda value: from_integer(from_logical(schema, value))


def _long(value: int) -> int:
    if _LONG_MIN <= value < _LONG_LIMIT:
        return value
    raise DataError(f"{value} is no number of 64 bits; without a schema nothing larger can be cast")


def _wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def _saturated(value: float, limit: int) -> int:
    """Return a double rounded towards zero, within the limits; not-a-number is 0 (JLS 5.1.3)."""
    if value != value:
        return 0
    if value >= limit:
        return limit - 1
    return -limit if value <= -limit else int(value)


def _integer_ways(bits: int) -> Mapping[type, Cast]:
    limit = 1 << (bits - 1)
    least = -limit

    def from_integer(value: int) -> int:
        return value if least <= value < limit else _wrapped(_long(value), bits)

    def from_float(value: float) -> int:
        # Types narrower than an int are cast through int.
        return _saturated(value, limit) if bits >= 32 else _wrapped(_saturated(value, _INT_LIMIT), bits)

    def from_text(value: str) -> int:
        # Python's limit for digits, far above those of a 64-bit number.
        if _INTEGER.fullmatch(value) and len(value) < _MOST_DIGITS and least <= (number := int(value)) < limit:
            return number
        raise DataError(f"{shown(value)} is no int{bits}")

    return {int: from_integer, bool: int, float: from_float, str: from_text}


def nearest_float32(value: int | decimal.Decimal) -> float:
    """Return the float32 nearest to an exact number. A conversion through the nearest double would round twice."""
    near = float(value)
    if near != value and not math.isinf(near) and not struct.unpack("<q", struct.pack("<d", near))[0] & 1:
        # Of the two doubles around the number, the odd one is never a tie between two float32s.
        near = math.nextafter(near, math.inf if value > near else -math.inf)
    return to_float32(near)


def _number(value: str) -> str | float:
    """Return the number in a text: decimal digits as text, others as a double."""
    text = value.strip(_TRIMMED)
    found = _DECIMAL.fullmatch(text)
    if found:
        return found[1]
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    found = _HEXADECIMAL.fullmatch(text)
    if not found:
        raise DataError(f"{shown(value)} is no number")
    try:
        return float.fromhex(found[1])
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def _float32_from_text(value: str) -> float:
    number = _number(value)
    try:
        return nearest_float32(decimal.Decimal(number)) if isinstance(number, str) else to_float32(number)
    except decimal.InvalidOperation:  # an exponent that only a double can have
        return to_float32(float(number))


def _integer_part(value: decimal.Decimal) -> int:
    if not value.is_finite():
        raise DataError(f"{value} is no number")
    return int(value)


def _base64_text(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode("ascii")


def shown(value: Any) -> str:
    """Return a value as messages show it; long text is cut."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


_FLOAT32_WAYS: Final[Mapping[type, Cast]] = {
    int: lambda value: nearest_float32(_long(value)),
    bool: float,
    float: to_float32,
    str: _float32_from_text,
}
_FLOAT64_WAYS: Final[Mapping[type, Cast]] = {
    int: lambda value: float(_long(value)),
    bool: float,
    float: float,
    str: lambda value: float(_number(value)),
}
_BOOLEAN_WAYS: Final[Mapping[type, Cast]] = {
    int: lambda value: _long(value) != 0,
    bool: bool,
    float: lambda value: value >= 1 or value <= -1,  # its integer part decides
    str: lambda value: value.lower() == "true",
}
_STRING_WAYS: Final[Mapping[type, Cast]] = {
    int: lambda value: str(_long(value)),
    bool: lambda value: "true" if value else "false",
    float: double_text,
    str: str,
    bytes: _base64_text,
    bytearray: _base64_text,
    memoryview: _base64_text,
}
_WAYS: Final[Mapping[Type, Mapping[type, Cast]]] = {
    **{kind: _integer_ways(bits) for kind, bits in INTEGER_BITS.items()},
    Type.FLOAT32: _FLOAT32_WAYS,
    Type.FLOAT64: _FLOAT64_WAYS,
    Type.BOOLEAN: _BOOLEAN_WAYS,
    Type.STRING: _STRING_WAYS,
}
_INTEGER_WAYS: Final[Mapping[Type, Cast]] = {
    Type.FLOAT32: nearest_float32,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
}
_DECIMAL_WAYS: Final[Mapping[Type, Cast]] = {
    Type.INT8: lambda value: _wrapped(_integer_part(value), 8),
    Type.INT16: lambda value: _wrapped(_integer_part(value), 16),
    Type.INT32: lambda value: _wrapped(_integer_part(value), 32),
    Type.INT64: lambda value: _wrapped(_integer_part(value), 64),
    Type.FLOAT32: lambda value: nearest_float32(value) if value.is_finite() else float(value),
    Type.FLOAT64: float,
    Type.BOOLEAN: lambda value: _wrapped(_integer_part(value), 64) != 0,
    Type.STRING: str,
}

TARGETS: Final = tuple(_WAYS)
"""The types that values can be cast to."""
