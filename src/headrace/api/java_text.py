# SPDX-License-Identifier: Apache-2.0
"""Numbers as Java writes them, for text that must equal Java's byte for byte."""

from __future__ import annotations

import struct
from typing import Final

_PLAIN_FROM: Final = 1e-3
_PLAIN_BELOW: Final = 1e7
_FLOAT32_LEAST_NORMAL: Final = 2.0**-126


def is_plain(value: float) -> bool:
    """Return True if Java writes this double without an exponent, as Python does too then."""
    return _PLAIN_FROM <= abs(value) < _PLAIN_BELOW or value == 0


def double_text(value: float) -> str:
    """Return the text of a double (`Double.toString`)."""
    if is_plain(value):
        return repr(value)
    # Java writes at least two digits, the nearest ones: 4.9E-324, not 5.0E-324.
    two_digits = f"{value:.1e}"
    return _far_text(value, two_digits if float(two_digits) == value else repr(value))


def float_text(value: float) -> str:
    """Return the text of a float32 (`Float.toString`): the shortest digits that read back as the same float32."""
    shortest = _shortest_float32(value)
    return repr(float(shortest)) if is_plain(value) else _far_text(value, shortest)


def to_float32(value: float) -> float:
    """Return the nearest float32, infinite beyond its range."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _shortest_float32(value: float) -> str:
    target = to_float32(value)
    # A normal float32 keeps six digits of any decimal, so shorter texts show up with six.
    for digits in range(6 if abs(target) >= _FLOAT32_LEAST_NORMAL else 2, 10):
        text = f"{target:.{digits}g}"
        if to_float32(float(text)) == target:
            return text
    return repr(target)


def _far_text(value: float, text: str) -> str:
    """Return the text of not-a-number, infinities, and numbers with an exponent such as `1.0E10`."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(digits) - len(significant))
    sign = "-" if value < 0 else ""
    return f"{sign}{significant[0]}.{significant[1:].rstrip('0') or '0'}E{power}"
