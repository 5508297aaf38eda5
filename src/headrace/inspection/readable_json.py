# SPDX-License-Identifier: Apache-2.0
"""Connect data as JSON for people to read: any value, shortened if it is large, and never an error.

Not JsonConverter's JSON, which must be read back: here decimals are their digits, dates and times ISO 8601. Bytes are
base64; a map whose keys are not all strings is a list of [key, value].
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.api.error_text import clean_text, error_text
from headrace.api.java_text import float_text
from headrace.api.schema import Schema, Struct, Type
from headrace.converters.json_schema import schema_to_json

DEPTH: Final = 64
"""Levels of nesting that are shown."""
_INT64_END: Final = 1 << 63
_DECIMAL_DIGITS: Final = 1000
_EACH: Final = 2
"""Characters that an entry or element takes for itself, as an empty one would be free otherwise."""


class ReadableJson:
    """Converts one value after another, all together up to a size in characters; what is beyond it is left out.

    `truncated` is True as soon as something was left out. Marks in the JSON begin with an ellipsis.
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self.truncated = False

    def value(self, value: Any, schema: Schema | None = None, depth: int = 0) -> Any:
        """Return a value as JSON. `schema` makes a difference for float32 only."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return int(value) if -_INT64_END <= value < _INT64_END else self._text(_digits(value))
        if isinstance(value, float):
            return _float(value, schema)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self.bytes(bytes(value))
        if isinstance(value, (Struct, Mapping, list, tuple)):
            return self._nested(value, schema, depth)
        return self._text(_scalar_text(value))

    def bytes(self, value: bytes) -> str:
        """Return bytes as base64, of the first ones only if they are too many."""
        shown = min(len(value), self._left // 4 * 3)
        self._left -= shown * 4 // 3
        self.truncated |= shown < len(value)
        return base64.b64encode(value[:shown]).decode()

    def schema(self, schema: Schema | None) -> Any:
        """Return a schema as JsonConverter writes it; None for schemaless data. Defaults are readable JSON too."""
        return schema_to_json(schema, lambda of: self.value(of.default, of)) if schema is not None else None

    def _nested(self, value: Any, schema: Schema | None, depth: int) -> Any:
        if depth >= DEPTH:
            self.truncated = True
            return f"… (nested more than {DEPTH} levels deep)"
        if isinstance(value, Struct):
            return self._struct(value, depth + 1)
        if isinstance(value, Mapping):
            return self._map(value, schema, depth + 1)
        return self._list(value, schema, depth + 1)

    def _struct(self, struct: Struct, depth: int) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        fields = struct.schema.fields
        for field in fields:
            if not self._takes(len(field.name) + _EACH):
                shown["…"] = f"{len(fields) - len(shown)} more fields"
                break
            shown[clean_text(field.name)] = self.value(struct.get(field.name), field.schema, depth)
        return shown

    def _map(self, value: Mapping[Any, Any], schema: Schema | None, depth: int) -> Any:
        key_schema = schema.key_schema if schema is not None else None
        value_schema = schema.value_schema if schema is not None else None
        if not all(isinstance(key, str) for key in value):
            pairs = [(key, item) for key, item in value.items()]
            return self._elements(
                pairs,
                lambda pair: [self.value(pair[0], key_schema, depth), self.value(pair[1], value_schema, depth)],
            )
        shown: dict[str, Any] = {}
        for key, item in value.items():
            if not self._takes(len(key) + _EACH):
                shown["…"] = f"{len(value) - len(shown)} more entries"
                break
            shown[clean_text(key)] = self.value(item, value_schema, depth)
        return shown

    def _list(self, value: Sequence[Any], schema: Schema | None, depth: int) -> list[Any]:
        of_element = schema.value_schema if schema is not None else None
        return self._elements(value, lambda element: self.value(element, of_element, depth))

    def _elements(self, value: Sequence[Any], convert: Any) -> list[Any]:
        shown: list[Any] = []
        for element in value:
            if not self._takes(_EACH):
                shown.append(f"… {len(value) - len(shown)} more")
                break
            shown.append(convert(element))
        return shown

    def _takes(self, size: int) -> bool:
        """Take `size` characters of what is left; return False if there is not as much."""
        if size > self._left:
            self.truncated = True
            return False
        self._left -= size
        return True

    def _text(self, text: str) -> str:
        size = str.__len__(text)
        shown = min(size, self._left)
        self._left -= shown
        if shown == size:
            return _encodable(text)
        self.truncated = True
        return f"{_encodable(str.__getitem__(text, slice(shown)))}… ({size} characters)"


def _encodable(text: str) -> str:
    # str's own method: a subclass may override it. A lone surrogate becomes its escape.
    return str.encode(text, "utf-8", "backslashreplace").decode()


def _float(value: float, schema: Schema | None) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # A float32 has more digits as a double than it was written with.
    return float(float_text(value)) if schema is not None and schema.type is Type.FLOAT32 else float(value)


def _digits(value: int) -> str:
    return str(value) if value.bit_length() < 4 * _DECIMAL_DIGITS else hex(value)  # str takes no more digits


def _scalar_text(value: Any) -> str:
    match value:
        case decimal.Decimal():
            far = value.is_finite() and abs(value.adjusted()) > _DECIMAL_DIGITS
            return str(value) if far else format(value, "f")
        case datetime.datetime():
            moment = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)
            return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case datetime.time():
            return value.isoformat(timespec="milliseconds")
        case datetime.date():
            return value.isoformat()
    return error_text(value)
