# SPDX-License-Identifier: Apache-2.0
"""The text of log records, safe against forged records and broken messages."""

from __future__ import annotations

import logging
import re
from typing import Final

from headrace.api.error_text import clean_text, error_line, error_trace

_INDENTED: Final = "    "
_HARMFUL: Final = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f"  # controls, but for the tab: new lines, and what terminals obey
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # which show text in another order than it has
    "\u2028\u2029\ufeff]"
)
_SHORT: Final = {"\n": r"\n", "\r": r"\r"}


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
