# SPDX-License-Identifier: Apache-2.0
"""How log lines look: as text, or each as one JSON object (the worker's property ``log.format``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

import orjson

from headrace.logs.levels import TRACE
from headrace.logs.records import escaped, indented, message_of, trace_of

TEXT: Final = "text"
JSON: Final = "json"

# A line of a level that Python has no name for would show its number.
logging.addLevelName(TRACE, "TRACE")


class TextFormatter(logging.Formatter):
    """One line for each record, and below it, indented, the lines of its stack trace where it has one.

    Nothing that a message or a trace contains begins another record, nor is anything for a terminal to obey.
    """

    def format(self, record: logging.LogRecord) -> str:
        context, trace = getattr(record, "connector_context", ""), trace_of(record)
        line = escaped(f"[{self.formatTime(record)}] {record.levelname} {context}{message_of(record)}")
        return line if trace is None else f"{line}\n{indented(trace)}"


class JsonFormatter(logging.Formatter):
    """One line for each record; ``connector.context``, as Kafka Connect's key is, and ``exception`` where there is one.

    Whatever a message contains, the line is JSON of one line.
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
    except TypeError:  # half a surrogate pair is a str, but no text
        clean = {key: str(text).encode("utf-8", "backslashreplace").decode() for key, text in line.items()}
        return orjson.dumps(clean).decode()


_FORMATTERS: Final[Mapping[str, Callable[[], logging.Formatter]]] = MappingProxyType(
    {TEXT: TextFormatter, JSON: JsonFormatter}
)


def formatter(name: str) -> logging.Formatter:
    """For one of the values of ``log.format``, TEXT or JSON."""
    return _FORMATTERS[name]()
