# SPDX-License-Identifier: Apache-2.0
"""The newest log lines of this process, in memory, so many bytes of them."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headrace.logs.formats import message_of, trace_of
from headrace.logs.loggers import name_of

_OVERHEAD: Final = 300
"""Bytes that a line takes beside its texts, about."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A log record: ``number`` counts from 1, ``time`` is in ms since the epoch, ``level`` is log4j's name.

    ``context`` is as ``context_of`` returns it, empty for a line that is about no connector.
    """

    number: int
    time: int
    level: str
    logger: str
    context: str
    message: str
    trace: str | None

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes, about."""
        return len(self.message) + len(self.trace or "") + len(self.logger) + len(self.context) + _OVERHEAD


@dataclass(frozen=True, slots=True)
class KeptLines:
    """Lines in order, and the number to continue after. ``gap``: lines before these are not kept any more."""

    lines: tuple[LogLine, ...]
    last: int
    gap: bool


class LogRing(logging.Handler):
    """A handler that keeps lines, and drops the oldest ones. It needs the filters of the handler that prints lines.

    Thread-safe. ``instance`` differs from one worker's process to the next: its numbers begin anew.
    """

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self.instance = f"{time.time_ns() // 1_000_000:x}"
        self._max = max_bytes
        self._size = 0
        self._last = 0
        self._lines: deque[LogLine] = deque()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line; called with the handler's lock."""
        line = LogLine(
            self._last + 1,
            int(record.created * 1000),
            name_of(record.levelno),
            record.name,
            getattr(record, "connector_context", ""),
            message_of(record),
            trace_of(record),
        )
        self._last = line.number
        self._lines.append(line)
        self._size += line.size
        while self._size > self._max:
            self._size -= self._lines.popleft().size

    def after(self, number: int, limit: int, wanted: Callable[[LogLine], bool]) -> KeptLines:
        """Return the first lines after a number, at most ``limit``."""
        lines, last = self._snapshot()
        found: list[LogLine] = []
        for line in lines:
            if line.number > number and wanted(line):
                found.append(line)
                if len(found) == limit:
                    last = line.number
                    break
        first = lines[0].number if lines else last + 1
        return KeptLines(tuple(found), last, number + 1 < first)

    def newest(self, limit: int, wanted: Callable[[LogLine], bool]) -> KeptLines:
        """Return the last lines, at most ``limit``."""
        lines, last = self._snapshot()
        found: deque[LogLine] = deque(filter(wanted, lines), maxlen=limit)
        return KeptLines(tuple(found), last, gap=False)

    def _snapshot(self) -> tuple[tuple[LogLine, ...], int]:
        self.acquire()
        try:
            return tuple(self._lines), self._last
        finally:
            self.release()
