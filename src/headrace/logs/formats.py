# SPDX-License-Identifier: Apache-2.0
"""Formats of log lines: text, or one JSON object each (the worker's property ``log.format``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

import orjson

from headrace.logs.loggers import TRACE
from headrace.logs.records import escaped, indented, message_of, trace_of

TEXT: Final = "text"
JSON: Final = "json"

# A line of a level that Python has no name for would show its number.
logging.addLevelName(TRACE, "TRACE")


class TextFormatter(logging.Formatter):
    """A formatter that writes one line for each record, and its stack trace indented below.

    No content of a message or a trace can forge another record or a terminal's control sequence.
    """

    def format(self, record: logging.LogRecord) -> str:
        context, trace = getattr(record, "connector_context", ""), trace_of(record)
        line = escaped(f"[{self.formatTime(record)}] {record.levelname} {context}{message_of(record)}")
        return line if trace is None else f"{line}\n{indented(trace)}"


class JsonFormatter(logging.Formatter):
    """A formatter that writes one line of JSON for each record, whatever its message contains.

    ``connector.context``, Kafka Connect's key, and ``exception`` are there where the record has them.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
            "message": message_of(record),
        }
        context = getattr(record, "connector_context", "").strip()
        if context:
            line["connector.context"] = context
        exception = trace_of(record)
        if exception:
            line["exception"] = exception
        return _dumps(line)


def _dumps(line: Mapping[str, Any]) -> str:
    try:
        return orjson.dumps(line).decode()
    except TypeError:  # a lone surrogate cannot be encoded
        clean = {key: str(text).encode("utf-8", "backslashreplace").decode() for key, text in line.items()}
        return orjson.dumps(clean).decode()


_FORMATTERS: Final[Mapping[str, Callable[[], logging.Formatter]]] = MappingProxyType(
    {TEXT: TextFormatter, JSON: JsonFormatter}
)


def formatter(name: str) -> logging.Formatter:
    """Return the formatter for a value of ``log.format``, TEXT or JSON."""
    return _FORMATTERS[name]()
