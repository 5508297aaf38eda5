# SPDX-License-Identifier: Apache-2.0
"""The text of headers' values: strings unchanged, other data in a notation like JSON (Java: `Values.append`)."""

from __future__ import annotations

import base64
import datetime
import decimal
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.api.errors import DataError
from headrace.api.java_text import double_text, float_text
from headrace.api.schema import Schema, Struct, Type
from headrace.api.values_moments import moment_text


def text_of(schema: Schema | None, value: Any, inside: bool = False) -> str:
    """Return the text of a value; strings and bytes are quoted only `inside` arrays, maps and structs.

    `schema` distinguishes a float32 from a double. Raise DataError for a value that is not Connect data.
    """
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if inside else value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value) if schema is not None and schema.type is Type.FLOAT32 else double_text(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return moment_text(value)
    if isinstance(value, decimal.Decimal):
        return str(value if value else value.copy_abs())
    if isinstance(value, (bytes, bytearray, memoryview)):
        encoded = base64.b64encode(value).decode()
        return f'"{encoded}"' if inside else encoded
    return _container_text(schema, value)


def _container_text(schema: Schema | None, value: Any) -> str:
    if isinstance(value, Struct):
        return _object(
            (None, field.name, field.schema, entry)
            for field, (_, entry) in zip(value.schema.fields, value, strict=True)
        )
    value_schema = schema.value_schema if schema is not None else None
    if isinstance(value, Mapping):
        key_schema = schema.key_schema if schema is not None else None
        return _object((key_schema, key, value_schema, entry) for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return f"[{','.join(text_of(value_schema, entry, True) for entry in value)}]"
    raise DataError(f"Failed to serialize unexpected value type {type(value).__name__}: {value!r}")


def _object(entries: Iterable[tuple[Schema | None, Any, Schema | None, Any]]) -> str:
    pairs = (f"{text_of(kind, key, True)}:{text_of(schema, value, True)}" for kind, key, schema, value in entries)
    return f"{{{','.join(pairs)}}}"
