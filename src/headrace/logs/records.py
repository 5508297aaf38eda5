# SPDX-License-Identifier: Apache-2.0
"""What log records say, as text that forges no other record and is there whatever the record is made of."""

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
    """The record's message, however long it wanted to be; the format and the reason where it cannot be made."""
    try:
        return clean_text(record.getMessage())
    except BaseException as error:
        return clean_text(f"{record.msg!a:.200} (this line cannot be made: {error_line(error)})")


def trace_of(record: logging.LogRecord) -> str | None:
    """The stack traces that the record has."""
    error = record.exc_info[1] if record.exc_info else None
    trace = record.exc_text or (None if error is None else error_trace(error))
    return "\n".join(filter(None, (trace and clean_text(trace).rstrip("\n"), record.stack_info))) or None


def escaped(text: str) -> str:
    r"""One line without what a terminal or a reader of logs would obey: ``\n`` and ``\x1b`` are written so."""
    return _HARMFUL.sub(_escape, text) if _HARMFUL.search(text) else text


def indented(trace: str) -> str:
    """A stack trace whose lines all stand to the right of where records begin."""
    return "\n".join(_INDENTED + escaped(line) for line in trace.splitlines())


def log_again(logger: str, level: int, message: str, trace: str | None) -> None:
    """Log, in this process, a record of another one."""
    log = logging.getLogger(logger)
    if log.isEnabledFor(level):
        record = log.makeRecord(logger, level, "", 0, "%s", (message,), None)
        record.exc_text = trace
        log.handle(record)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or (f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}")
