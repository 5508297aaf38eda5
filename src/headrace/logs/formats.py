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

TEXT: Final = "text"
JSON: Final = "json"
_TEXT_FORMAT: Final = "[%(asctime)s] %(levelname)s %(connector_context)s%(message)s"

# A line of a level that Python has no name for would show its number.
logging.addLevelName(TRACE, "TRACE")


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
            "message": record.getMessage(),
        }
        context = getattr(record, "connector_context", "").strip()
        if context:
            line["connector.context"] = context
        exception = record.exc_text or (self.formatException(record.exc_info) if record.exc_info else None)
        if exception:
            line["exception"] = exception
        return _dumps(line)


def _dumps(line: Mapping[str, Any]) -> str:
    try:
        return orjson.dumps(line).decode()
    except TypeError:  # half a surrogate pair is a str, but no text
        clean = {key: str(text).encode("utf-8", "backslashreplace").decode() for key, text in line.items()}
        return orjson.dumps(clean).decode()


def _text_formatter() -> logging.Formatter:
    return logging.Formatter(_TEXT_FORMAT, defaults={"connector_context": ""})


_FORMATTERS: Final[Mapping[str, Callable[[], logging.Formatter]]] = MappingProxyType(
    {TEXT: _text_formatter, JSON: JsonFormatter}
)


def formatter(name: str) -> logging.Formatter:
    """For one of the values of ``log.format``, TEXT or JSON."""
    return _FORMATTERS[name]()
