# SPDX-License-Identifier: Apache-2.0
"""Formats of log lines: text, or one JSON object each (``log.format``), safe against forged and broken records."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

import orjson

from headrace.api.error_text import clean_text, error_line, error_trace
from headrace.logs.loggers import TRACE

_INDENTED: Final = "    "
_HARMFUL: Final = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f"  # controls, but for the tab: new lines, and what terminals obey
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # which show text in another order than it has
    "\u2028\u2029\ufeff]"
)
_SHORT: Final = {"\n": r"\n", "\r": r"\r"}
TEXT: Final = "text"
JSON: Final = "json"
_process = ""


def name_process(name: str) -> None:
    """Show a name of this process in its lines from now on: others log to the same place."""
    global _process
    _process = name


def message_of(record: logging.LogRecord) -> str:
    """Return the record's message, its length limited; its format and the error if formatting fails."""
    try:
        return clean_text(record.getMessage())
    except BaseException as error:
        return clean_text(f"{record.msg!a:.200} (this line cannot be made: {error_line(error)})")


def trace_of(record: logging.LogRecord) -> str | None:
    """Return the record's stack traces, None without any."""
    error = record.exc_info[1] if record.exc_info else None
    trace = record.exc_text or (None if error is None else error_trace(error))
    return "\n".join(filter(None, (trace and clean_text(trace).rstrip("\n"), record.stack_info))) or None


def escaped(text: str) -> str:
    r"""Return one line with control characters escaped, as ``\n`` and ``\x1b``."""
    return _HARMFUL.sub(_escape, text) if _HARMFUL.search(text) else text


def indented(trace: str) -> str:
    """Return a stack trace with all lines indented: records begin at the margin."""
    return "\n".join(_INDENTED + escaped(line) for line in trace.splitlines())


def log_again(logger: str, level: int, message: str, trace: str | None) -> None:
    """Log a record of another process in this one."""
    log = logging.getLogger(logger)
    if log.isEnabledFor(level):
        record = log.makeRecord(logger, level, "", 0, "%s", (message,), None)
        record.exc_text = trace
        log.handle(record)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or (f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}")


# A line of a level that Python has no name for would show its number.
logging.addLevelName(TRACE, "TRACE")


class TextFormatter(logging.Formatter):
    """A formatter that writes one line for each record, and its stack trace indented below.

    No content of a message or a trace can forge another record or a terminal's control sequence.
    """

    def format(self, record: logging.LogRecord) -> str:
        context, trace = getattr(record, "connector_context", ""), trace_of(record)
        name = f"[{_process}] " if _process else ""
        line = escaped(f"[{self.formatTime(record)}] {record.levelname} {name}{context}{message_of(record)}")
        return line if trace is None else f"{line}\n{indented(trace)}"


class JsonFormatter(logging.Formatter):
    """A formatter that writes one line of JSON for each record, whatever its message contains.

    ``connector.context``, Kafka Connect's key, and ``exception`` are there where the record has them, ``process`` where
    this process has a name.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
            "message": message_of(record),
        }
        if _process:
            line["process"] = _process
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
