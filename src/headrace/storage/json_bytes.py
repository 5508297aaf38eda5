# SPDX-License-Identifier: Apache-2.0
"""JSON as the Java JsonConverter (schemas off) writes and reads it in the internal topics, byte for byte."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import orjson

from headrace.api.errors import DataError
from headrace.api.java_text import double_text

_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def dumps(value: Any) -> bytes:
    """Compact JSON, members in their own order. DataError for what JSON cannot hold.

    Keys of source offsets are compared as bytes, so escapes and numbers are Java's: ``\\u001F``, ``1.0E10``.
    """
    try:
        return _text(value).encode()
    except UnicodeEncodeError as e:
        raise DataError(f"Text that is not Unicode cannot be stored: {e}") from e


def loads(data: bytes) -> Any:
    """What ``data`` holds; whole numbers keep all their digits. DataError if it is not JSON."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return _loads_slowly(data)
    # orjson reads a whole number beyond 64 bits as a float.
    return _loads_slowly(data) if isinstance(value, float) or _holds_large(value) else value


def _holds_large(value: Any) -> bool:
    if isinstance(value, float):
        return abs(value) >= 2.0**63
    if isinstance(value, dict):
        return any(map(_holds_large, value.values()))
    return isinstance(value, list) and any(map(_holds_large, value))


def _loads_slowly(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, UnicodeDecodeError) as e:
        raise DataError(f"Not JSON: {e}") from e


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
