# SPDX-License-Identifier: Apache-2.0
"""SimpleHeaderConverter: headers as readable text (Java: `org.apache.kafka.connect.storage.SimpleHeaderConverter`)."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.api.config_def import ConfigDef
from headrace.api.converter import NULL, HeaderConverter, SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.logical import MILLIS_PER_DAY, from_logical
from headrace.api.schema import Schema, Struct
from headrace.converters.common import converter_config_def
from headrace.converters.java_string import java_string


class SimpleHeaderConverter(HeaderConverter):
    """Strings as they are, other data in a notation like JSON. It writes all data and reads nothing but null."""

    def config(self) -> ConfigDef:
        return converter_config_def()

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else _text(schema, value, False).encode("utf-8", "replace")

    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        if value is None:
            return NULL
        raise DataError(
            f"SimpleHeaderConverter cannot read header '{key}' of topic {topic}: set header.converter to "
            "StringConverter, JsonConverter or ByteArrayConverter"
        )


def _text(schema: Schema | None, value: Any, inside: bool) -> str:
    """The text of a value; strings are quoted only `inside` arrays, maps and structs."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if inside else value
    if isinstance(value, (bytes, bytearray, memoryview)):
        encoded = base64.b64encode(value).decode()
        return f'"{encoded}"' if inside else encoded
    if isinstance(value, (datetime.date, datetime.time)):
        return _moment(value)
    if isinstance(value, Struct):
        fields = value.schema.fields
        return _object((field.name, None, field.schema, value.get(field.name)) for field in fields)
    if isinstance(value, Mapping):
        key_schema = schema.key_schema if schema is not None else None
        value_schema = schema.value_schema if schema is not None else None
        return _object((key, key_schema, value_schema, entry) for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        element = schema.value_schema if schema is not None else None
        return f"[{','.join(_text(element, entry, True) for entry in value)}]"
    return java_string(schema, value)


def _object(entries: Iterable[tuple[Any, Schema | None, Schema | None, Any]]) -> str:
    texts = [f"{_text(kind, key, True)}:{_text(schema, value, True)}" for key, kind, schema, value in entries]
    return f"{{{','.join(texts)}}}"


def _moment(value: datetime.date | datetime.time) -> str:
    """A day, a time of day, or both: of a timestamp what is not zero, as Java shows it."""
    if isinstance(value, datetime.time):
        return _time(from_logical(Schema.TIME, value))
    if not isinstance(value, datetime.datetime):
        return value.isoformat()
    millis = from_logical(Schema.TIMESTAMP, value)
    if 0 <= millis < MILLIS_PER_DAY:
        return _time(millis)
    day = value.astimezone(datetime.UTC).date() if value.tzinfo is not None else value.date()
    rest = millis % MILLIS_PER_DAY
    return f"{day.isoformat()}T{_time(rest)}" if rest else day.isoformat()


def _time(millis: int) -> str:
    seconds, rest = divmod(millis, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}Z"
