# SPDX-License-Identifier: Apache-2.0
"""The form of a failed record in a dead letter topic. Pure. Java: ``DeadLetterQueueReporter``.

A consumed record is set aside as it was consumed. A polled one never had bytes: its key and value become JSON without
schemas (bytes stay as they are), and text where JSON cannot hold them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from headrace.api.error_text import error_text, error_trace
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError, SchemaBuilderError
from headrace.api.schema import Schema, Struct
from headrace.converters.json_converter import JsonConverter
from headrace.kafka.errors import RecordTooLargeError
from headrace.model.ids import ConnectorTaskId
from headrace.task.errors.processing_context import ConsumedRecord, O, Original, ProcessingContext

RawHeader = tuple[str, bytes | None]
PREFIX: Final = "__connect.errors."
_JAVA_NAMES: Final[dict[type[BaseException], str]] = {
    ConnectError: "org.apache.kafka.connect.errors.ConnectException",
    DataError: "org.apache.kafka.connect.errors.DataException",
    RetriableError: "org.apache.kafka.connect.errors.RetriableException",
    SchemaBuilderError: "org.apache.kafka.connect.errors.SchemaBuilderException",
    ConfigError: "org.apache.kafka.common.config.ConfigException",
    RecordTooLargeError: "org.apache.kafka.common.errors.RecordTooLargeException",
}


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record for the dead letter topic; the producer chooses its partition. ``timestamp`` is in ms."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[RawHeader]
    timestamp: int | None


def create_dead_letter(task: ConnectorTaskId, context: ProcessingContext[O], context_headers: bool) -> DeadLetter:
    """Return the record with its own headers first and, if asked for, those of ``error_headers`` after them."""
    record: Original = context.original
    if isinstance(record, ConsumedRecord):
        key, value, headers = record.key, record.value, list(record.headers)
    else:
        key, value = _json(record.key_schema, record.key), _json(record.value_schema, record.value)
        headers = [(h.key, _header(h.schema, h.value)) for h in record.headers] if record.has_headers else []
    if context_headers:
        headers += error_headers(task, context)
    return DeadLetter(key, value, headers, record.timestamp)


def error_headers(task: ConnectorTaskId, context: ProcessingContext[O]) -> list[RawHeader]:
    """Return the headers that describe a failure. Names, texts and order are Java's.

    A source's record has ``source.partition`` and ``source.offset``, as JSON, in place of ``partition`` and ``offset``.
    Exceptions that stand for one of Java's have its name.
    """
    error = context.error
    cls = type(error)
    python_name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    entries: list[tuple[str, str | bytes | None]] = [
        *_position(context.original),
        ("connector.name", task.connector),
        ("task.id", str(task.task)),
        ("stage", context.operation.stage.value),
        ("class.name", context.operation.executing_class),
        ("exception.class.name", _JAVA_NAMES.get(cls, python_name)),
        ("exception.message", error_text(error) or None),
        ("exception.stacktrace", error_trace(error)),
    ]
    return [(PREFIX + name, _utf8(text) if isinstance(text, str) else text) for name, text in entries]


def _position(record: Original) -> list[tuple[str, str | bytes | None]]:
    if isinstance(record, ConsumedRecord):
        return [("topic", record.topic), ("partition", str(record.partition)), ("offset", str(record.offset))]
    return [
        ("topic", record.topic),
        ("source.partition", _json(None, record.source_partition)),
        ("source.offset", _json(None, record.source_offset)),
    ]


def _header(schema: Schema | None, value: Any) -> bytes | None:
    """Return a header's value as bytes: text without quotes, as Java's SimpleHeaderConverter has it."""
    return _utf8(value) if isinstance(value, str) else _json(schema, value)


def _json(schema: Schema | None, value: Any) -> bytes | None:
    """Return JSON, or text. Never fails: a record may be here because its value does not fit its schema."""
    if value is None:
        return None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    for assumed in (schema, None):
        try:
            return _converter().from_connect_data("", assumed, value)
        except Exception:
            continue
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except Exception:
        return _utf8(_text(value))


def _plain(value: Any) -> Any:
    """Return a form that orjson can write of a type unknown to it."""
    if isinstance(value, Struct):
        names = (field.name for field in value.schema.fields)
        return dict(zip(names, value.field_values, strict=True))
    return _text(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return object.__repr__(value)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


@functools.cache
def _converter() -> JsonConverter:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, False)
    return converter
