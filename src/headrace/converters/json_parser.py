# SPDX-License-Identifier: Apache-2.0
"""Parsing JSON as Java's converter does: by orjson where that comes to the same, exactly or leniently where it must."""

from __future__ import annotations

import decimal
import json
import re
from typing import Any, Final

import orjson

from headrace.api.errors import DataError

MISSING: Final = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""What empty text is parsed to."""
_WHITESPACE: Final = " \t\r\n"
_STRING_OR_NUMBER: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*', re.DOTALL)
_LEADING_ZEROS: Final = re.compile(r"^(-?)0+(?=[0-9])")
_LONGEST_NUMBER: Final = 1000
_GREATEST_SCALE: Final = (1 << 31) - 1

parse_strictly: Final = orjson.loads
"""One plain JSON value and nothing else, or ValueError. Integers beyond 64 bits are floats."""


class LostDigitsError(ValueError):
    """A number came as a float and may have lost digits that count: parse the text with `parse_exactly`."""


def parse_json(data: bytes) -> Any:
    """JSON with whole numbers as int and others as float, those beyond 64 bits too (see `LostDigitsError`).

    Like Java's, it takes leading zeros and a byte order mark, and does not look at what follows the first value; what
    only this makes readable has Decimals for floats, as `parse_exactly`. DataError for what is no JSON; `MISSING` for
    no text at all.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return parse_exactly(data)


def parse_exactly(data: bytes) -> Any:
    """As `parse_json`, but every number that is not whole is a Decimal, with the digits and scale of its text."""
    try:
        return parse_exactly_and_strictly(data)
    except (ValueError, RecursionError):
        return _parse_leniently(data)


def parse_exactly_and_strictly(data: bytes) -> Any:
    """One plain JSON value and nothing else, or ValueError; numbers as `parse_exactly` has them."""
    return _EXACT.decode(data.decode())


def _parse_leniently(data: bytes) -> Any:
    try:
        # Java finds out the encoding as JSON's first RFC told how.
        text = data.decode(json.detect_encoding(data)).lstrip(_WHITESPACE)
        if not text:
            return MISSING
        text = _STRING_OR_NUMBER.sub(_without_leading_zeros, text)
        value, end = _EXACT.raw_decode(text)
        _check_end_of_word(value, text[end : end + 1])
    except (ValueError, RecursionError) as error:
        raise DataError(f"Converting bytes to Kafka Connect data failed due to serialization error: {error}") from error
    return value


def _check_end_of_word(value: Any, following: str) -> None:
    """What follows the first value does not matter, but a number or a word must have come to its end there."""
    ends = following in _WHITESPACE if is_number(value) else not f"_{following}".isidentifier()
    if following and not isinstance(value, (str, dict, list)) and not ends:
        raise ValueError(f"Unexpected character {following!r} after {value}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _integer_of(text: str) -> int:
    _check_length(len(text.lstrip("-")))
    return int(text)


def _decimal_of(text: str) -> decimal.Decimal:
    """Java's decimals have no negative zero."""
    _check_length(sum(map(str.isdigit, text)))
    try:
        value = decimal.Decimal(text)
    except decimal.InvalidOperation as error:
        raise ValueError(f"The exponent of {text} is too big") from error
    if abs(int(value.as_tuple().exponent)) > _GREATEST_SCALE:
        raise ValueError(f"The exponent of {text} is too big")
    return value if value else value.copy_abs()


def _check_length(digits: int) -> None:
    if digits > _LONGEST_NUMBER:
        raise ValueError(f"A number of {digits} digits is too long: more than {_LONGEST_NUMBER} are refused")


_EXACT: Final = json.JSONDecoder(parse_float=_decimal_of, parse_int=_integer_of, parse_constant=_refuse_constant)


def _without_leading_zeros(match: re.Match[str]) -> str:
    return match[0] if match[0][0] == '"' else _LEADING_ZEROS.sub(r"\1", match[0])


def is_number(value: Any) -> bool:
    """Whether this is what a JSON number was parsed to."""
    return isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)
