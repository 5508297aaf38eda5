# SPDX-License-Identifier: Apache-2.0
"""Reporters of records that failed: to the log, and to a dead letter topic.

Java: ``LogReporter``, ``DeadLetterQueueReporter``.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic

import orjson

from headrace.api.error_text import error_text, error_trace
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError, SchemaBuilderError
from headrace.api.record import TimestampType
from headrace.api.schema import Schema, Struct
from headrace.config.connector_config import ErrorHandling
from headrace.converters.json_converter import JsonConverter
from headrace.kafka.errors import RecordTooLargeError
from headrace.model.ids import ConnectorTaskId
from headrace.task.errors.processing_context import ConsumedRecord, O, Original, ProcessingContext, where
from headrace.task.task_metrics import TaskMetrics

log = logging.getLogger(__name__)

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
REDRIVEN: Final = "headrace.redriven"
"""The header of a record that was redriven: of which connector it was a dead letter, how often, and where.

It stays with the record, also in the dead letter that it may become again, so that it does not go round without limit.
"""


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


class LogReporter(Generic[O]):
    """Logs failures with ``errors.log.enable``, and their records with ``errors.log.include.messages``."""

    def __init__(self, task: ConnectorTaskId, config: ErrorHandling, metrics: TaskMetrics) -> None:
        self._task = task
        self._config = config
        self._metrics = metrics

    def report(self, context: ProcessingContext[O]) -> None:
        if self._config.log:
            log.error("%s", self._message(context), exc_info=context.error)
            self._metrics.add("total-errors-logged", 1)

    def _message(self, context: ProcessingContext[O]) -> str:
        operation = context.operation
        alias = "" if operation.alias is None else f" of transformation '{operation.alias}'"
        record = _shown(context.original) if self._config.log_messages else ""
        return (
            f"Error encountered in task {self._task}. Executing stage '{operation.stage.value}' "
            f"with class '{operation.executing_class}'{alias}{record}."
        )


class DeadLetterQueueReporter(Generic[O]):
    """Sends skipped records to the dead letter topic. Task's thread only.

    A record that is not skipped is not sent: its offset is not committed, so it is read again.
    """

    def __init__(
        self,
        task: ConnectorTaskId,
        context_headers: bool,
        send: Callable[[DeadLetter], None],
        metrics: TaskMetrics,
        fits: Callable[[DeadLetter], bool] = lambda letter: True,
    ) -> None:
        """``send`` is called with each letter. ``fits`` returns False if one is too large.

        Then it has no key and value, and only the headers that describe the failure and earlier redrives.
        """
        self._fits = fits
        self._task = task
        self._context_headers = context_headers
        self._send = send
        self._metrics = metrics

    def report(self, context: ProcessingContext[O]) -> None:
        if context.tolerated:
            self._metrics.add("deadletterqueue-produce-requests", 1)
            letter = create_dead_letter(self._task, context, self._context_headers)
            if not self._fits(letter):
                message = "task %s: the dead letter topic takes no more than headers of %s"
                log.error(message, self._task, where(context.original))
                headers = redriven_headers(letter.headers) + error_headers(self._task, context)
                letter = DeadLetter(None, None, headers, letter.timestamp)
            self._send(letter)


def _shown(original: Original) -> str:
    if not isinstance(original, ConsumedRecord):
        return f", where source record is = {original!r}"
    timestamp = ""
    if original.timestamp_type is not TimestampType.NO_TIMESTAMP_TYPE:
        timestamp = f", timestamp={original.timestamp}, timestampType={original.timestamp_type.value}"
    return (
        f", where consumed record is {{topic='{original.topic}', partition={original.partition}, "
        f"offset={original.offset}{timestamp}}}"
    )


def redriven_count(headers: Iterable[RawHeader], connector: str) -> int:
    """Return how often the record was redriven as a dead letter of ``connector``; 0 without a header that says so."""
    counts = [_count(value, connector) for name, value in headers if name == REDRIVEN]
    return max(counts, default=0)


def with_redriven(
    headers: Sequence[RawHeader], connector: str, topic: str, partition: int, offset: int
) -> list[RawHeader]:
    """Return the headers with one for one more redrive of the letter at that position; other connectors' stay."""
    count = redriven_count(headers, connector) + 1
    mark = {"connector": connector, "count": count, "topic": topic, "partition": partition, "offset": offset}
    kept = [header for header in headers if header[0] != REDRIVEN or not _count(header[1], connector)]
    return [*kept, (REDRIVEN, orjson.dumps(mark))]


def redriven_headers(headers: Iterable[RawHeader]) -> list[RawHeader]:
    """Return those of ``headers`` that say that the record was redriven."""
    return [header for header in headers if header[0] == REDRIVEN]


def _count(value: bytes | None, connector: str) -> int:
    """Return the count of a header's value; 0 for one of another connector, and for what headrace has not written."""
    try:
        mark = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return 0
    if not isinstance(mark, dict) or mark.get("connector") != connector:
        return 0
    count = mark.get("count")
    return count if type(count) is int and count > 0 else 0
