# SPDX-License-Identifier: Apache-2.0
"""JSON as the Java JsonConverter (schemas off) writes and reads it in the internal topics, byte for byte."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, NoReturn

import orjson

from headrace.api.errors import DataError
from headrace.api.java_text import double_text

_MAX_LEVELS = 200
"""Java's converter stops at 1000. Python's stack holds no thousand levels, and what is read must be writable."""
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def dumps(value: Any) -> bytes:
    """Encode as compact JSON, members in their own order. Raise DataError for what JSON cannot hold.

    Keys of source offsets are compared as bytes, so escapes and numbers are Java's: ``\\u001F``, ``1.0E10``.
    """
    try:
        return _text(value).encode()
    except UnicodeEncodeError as e:
        raise DataError(f"Text that is not Unicode cannot be stored: {e}") from e
    except RecursionError as e:
        raise DataError(
            "A value with so many levels of objects and arrays cannot be stored in an internal topic"
        ) from e


def loads(data: bytes) -> Any:
    """Decode JSON; whole numbers keep all their digits.

    Raise DataError if it is not JSON, or cannot be encoded again: NaN, text that is not Unicode, or more than 200
    levels of objects and arrays.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return _loads_slowly(data)
    # orjson reads a whole number beyond 64 bits as a float.
    large = [leaf for leaf in _leaves(value) if isinstance(leaf, float) and abs(leaf) >= 2.0**63]
    return _loads_slowly(data) if large else value


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the members that are no objects or arrays. Raise DataError if some are nested too deeply."""
    level = [value]
    for _ in range(_MAX_LEVELS + 1):
        inner: list[Any] = []
        for member in level:
            if isinstance(member, dict):
                inner.extend(member.values())
            elif isinstance(member, list):
                inner.extend(member)
            else:
                yield member
        if not inner:
            return
        level = inner
    raise DataError(f"Not JSON that can be read: it has more than {_MAX_LEVELS} levels of objects and arrays")


def _loads_slowly(data: bytes) -> Any:
    try:
        value = json.loads(data.decode(), parse_constant=refuse_constant)
        check_text(value, infinities=True)
    except RecursionError as e:
        raise DataError("Not JSON that can be read: it is nested too deeply") from e
    except ValueError as e:
        raise DataError(f"Not JSON: {e}") from e
    for _ in _leaves(value):
        pass
    return value


def refuse_constant(constant: str) -> NoReturn:
    """Raise ValueError: NaN and infinities are no JSON. The ``parse_constant`` of ``json.loads``."""
    raise ValueError(f"{constant} is not allowed")


def check_text(value: Any, *, infinities: bool = False) -> None:
    """Raise ValueError for a value that lenient parsers accept but JSON cannot hold: half a character, NaN.

    With ``infinities`` a number as great as 1e400, which is read as one, may be there, as in what Java reads.
    """
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=infinities).encode()
    except UnicodeEncodeError as e:
        raise ValueError(f"\\u{ord(e.object[e.start]):x} is half a character and stands alone") from None


def _text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case int():
            return str(int(value))
        case float():
            text = double_text(value)
            return text if value - value == 0 else f'"{text}"'  # Java quotes NaN and infinities
        case bytes() | bytearray() | memoryview():
            return f'"{base64.b64encode(value).decode()}"'
        case Mapping():
            return "{" + ",".join(f"{_quoted(str(k))}:{_text(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_text, value)) + "]"
        case date():
            raise DataError(f"A date or time cannot be stored in an internal topic: {value!r}; use text or a number")
    raise DataError(f"A {type(value).__name__} cannot be stored in an internal topic: {value!r}")


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04X}", text) + '"'
