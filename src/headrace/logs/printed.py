# SPDX-License-Identifier: Apache-2.0
"""Lines that a process has printed, to its standard output or error, in the log: so many bytes a minute."""

from __future__ import annotations

import logging
import os
import re
import select
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

MAX_BYTES: Final = 256 * 1024
"""Printed bytes of one process that are logged in a minute: a task that prints in a loop must fill no disk."""
_MINUTE: Final = 60.0
_MAX_LINE: Final = 8192
_CHUNK: Final = 65_536
_IDLE_MS: Final = 1000
"""Milliseconds after which the start of a line is logged without its end."""
_LOGGED: Final = re.compile(r"(ERROR|WARN|INFO|DEBUG|TRACE) \S+ - ")
"""The beginning of a line that a plugin in Java has logged."""
_LEVELS: Final = {
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG,
}

log = logging.getLogger(__name__)


class Printed(NamedTuple):
    """A line for the log."""

    level: int
    text: str


class PrintedLines:
    """Makes lines of bytes, and drops what exceeds a limit. Pure but for its clock; for one thread."""

    def __init__(self, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        """``max_bytes`` are taken in a minute; ``clock`` returns seconds."""
        self._max = max_bytes
        self._clock = clock
        self._since = clock()
        self._taken = 0
        self._begun = b""
        self._dropped = 0
        self._dropped_lines = 0

    @property
    def pending(self) -> bool:
        """True if `idle` has something to do: a line has begun, or the dropped ones are to be reported."""
        return bool(self._begun or self._dropped)

    def take(self, data: bytes) -> Sequence[Printed]:
        """Return the lines that end with ``data``, and a remark if the rest is dropped."""
        lines = self._renewed()
        room = self._max - self._taken
        lines += self._split(data[:room])
        self._taken += min(room, len(data))
        if len(data) > room:
            if not self._dropped:
                lines += self._cut()
                lines.append(Printed(logging.WARNING, f"more than {self._max} bytes in a minute: the rest is dropped"))
            self._dropped += len(data) - room
            self._dropped_lines += data.count(b"\n", room)
        return lines

    def idle(self) -> Sequence[Printed]:
        """Return the start of a line whose end does not come, and what was dropped in a minute that is over."""
        return self._cut() + self._renewed()

    def close(self) -> Sequence[Printed]:
        """Return what is left."""
        return self._cut() + self._report_dropped()

    def _split(self, data: bytes) -> list[Printed]:
        *ended, self._begun = (self._begun + data).split(b"\n")
        lines = [line for each in ended for line in _lines(each)]
        return lines + self._cut() if len(self._begun) > _MAX_LINE else lines

    def _cut(self) -> list[Printed]:
        begun, self._begun = self._begun, b""
        return _lines(begun)

    def _renewed(self) -> list[Printed]:
        now = self._clock()
        if now - self._since < _MINUTE:
            return []
        self._since, self._taken = now, 0
        return self._report_dropped()

    def _report_dropped(self) -> list[Printed]:
        if not self._dropped:
            return []
        text = f"{self._dropped_lines} lines ({self._dropped} bytes) were dropped"
        self._dropped = self._dropped_lines = 0
        return [Printed(logging.WARNING, text)]


def log_printed(lines: Sequence[Printed]) -> None:
    """Log the lines; in the calling thread's context."""
    for level, text in lines:
        log.log(level, "printed: %s", text)


def log_pipe(descriptor: int, keep: Callable[[bytes], None] = lambda data: None) -> None:
    """Log what is printed to a pipe until its last writer has ended, and close it. On a thread of the caller's.

    ``keep`` gets all of it as well, also what is not logged.
    """
    lines = PrintedLines()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    try:
        while True:
            if not poll.poll(_IDLE_MS if lines.pending else None):
                log_printed(lines.idle())
            elif data := os.read(descriptor, _CHUNK):
                keep(data)
                log_printed(lines.take(data))
            else:
                return
    finally:
        os.close(descriptor)
        log_printed(lines.close())


def _lines(data: bytes) -> list[Printed]:
    text = data.decode("utf-8", "replace").rstrip()
    pieces = (text[at : at + _MAX_LINE] for at in range(0, len(text), _MAX_LINE))
    return [Printed(_level(piece), piece) for piece in pieces]


def _level(text: str) -> int:
    matched = _LOGGED.match(text)
    return _LEVELS[matched[1]] if matched else logging.INFO
