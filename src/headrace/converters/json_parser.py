# SPDX-License-Identifier: Apache-2.0
"""A parser of JSON with the results of Java's: orjson where those are equal, else an exact or a lenient parser."""

from __future__ import annotations

import decimal
import json
import re
from typing import Any, Final

import orjson

from headrace.api.errors import DataError

MISSING: Final = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""The result of parsing empty text."""
_WHITESPACE: Final = " \t\r\n"
_STRING_OR_NUMBER: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*', re.DOTALL)
_LEADING_ZEROS: Final = re.compile(r"^(-?)0+(?=[0-9])")
_LONGEST_NUMBER: Final = 1000
_GREATEST_SCALE: Final = (1 << 31) - 1

parse_strictly: Final = orjson.loads
"""Parse exactly one JSON value, or raise ValueError. Integers beyond 64 bits become floats."""


class LostDigitsError(ValueError):
    """A number was parsed as a float and may have lost digits that matter: use `parse_exactly`."""


def parse_json(data: bytes) -> Any:
    """Parse JSON with whole numbers as int and others as float, those beyond 64 bits too (see `LostDigitsError`).

    Like Java's parser it accepts leading zeros and a byte order mark, and ignores text after the first value; text that
    needs this leniency has Decimals for floats, as with `parse_exactly`. Raise DataError for text that is no JSON;
    return `MISSING` for empty text.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return parse_exactly(data)


def parse_exactly(data: bytes) -> Any:
    """Parse as `parse_json`, but with a Decimal, of the text's digits and scale, for every number that is not whole."""
    try:
        return parse_exactly_and_strictly(data)
    except (ValueError, RecursionError):
        return _parse_leniently(data)


def parse_exactly_and_strictly(data: bytes) -> Any:
    """Parse exactly one JSON value, with the numbers of `parse_exactly`, or raise ValueError."""
    return _EXACT.decode(data.decode())


def _parse_leniently(data: bytes) -> Any:
    try:
        # Java detects the encoding as JSON's first RFC defines.
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
    """Raise DataError if a number or a word continues in the text after the first value, which is ignored otherwise."""
    ends = following in _WHITESPACE if is_number(value) else not f"_{following}".isidentifier()
    if following and not isinstance(value, (str, dict, list)) and not ends:
        raise ValueError(f"Unexpected character {following!r} after {value}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _integer_of(text: str) -> int:
    _check_length(len(text.lstrip("-")))
    return int(text)


def _decimal_of(text: str) -> decimal.Decimal:
    """Return a Decimal; a negative zero becomes zero, as Java's decimals have none."""
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
    """Return True if a parsed value is a number."""
    return isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)
