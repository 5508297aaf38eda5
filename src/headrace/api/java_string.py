# SPDX-License-Identifier: Apache-2.0
"""Connect data as text, as Java's `toString` writes it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

from headrace.api.java_text import double_text, float_text
from headrace.api.schema import Schema, Struct, Type

_EPOCH_DAY: Final = datetime.date(1970, 1, 1)


def java_string(schema: Schema | None, value: Any) -> str:
    """Return the text of `value`, dates in UTC. `schema` distinguishes a float32 from a double."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value) if schema is not None and schema.type is Type.FLOAT32 else double_text(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return _date_text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, Struct):
        return _struct_text(value)
    if isinstance(value, Mapping):
        return _map_text(schema, value)
    if isinstance(value, (list, tuple)):
        element = schema.value_schema if schema is not None else None
        return f"[{', '.join(java_string(element, entry) for entry in value)}]"
    return str(value)


def _struct_text(struct: Struct) -> str:
    pairs = zip(struct.schema.fields, struct.field_values, strict=True)
    shown = [f"{field.name}={java_string(field.schema, value)}" for field, value in pairs if value is not None]
    return f"Struct{{{','.join(shown)}}}"


def _map_text(schema: Schema | None, value: Mapping[Any, Any]) -> str:
    key_schema = schema.key_schema if schema is not None else None
    value_schema = schema.value_schema if schema is not None else None
    shown = [f"{java_string(key_schema, key)}={java_string(value_schema, entry)}" for key, entry in value.items()]
    return f"{{{', '.join(shown)}}}"


def _date_text(value: datetime.date | datetime.time) -> str:
    if isinstance(value, datetime.time):
        moment = datetime.datetime.combine(_EPOCH_DAY, value)
    elif isinstance(value, datetime.datetime):
        moment = value.astimezone(datetime.UTC) if value.tzinfo is not None else value
    else:
        moment = datetime.datetime.combine(value, datetime.time())
    return f"{moment:%a %b %d %H:%M:%S} UTC {moment.year}"
