# SPDX-License-Identifier: Apache-2.0
"""Files for the console output of Spark's JVM and tasks' processes, which together never exceed a limit."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from headrace.config.engine_config import ConsoleLimits
from headrace.logs.context import in_same_context
from headrace.logs.printed import Printed, PrintedLines, log_printed
from headrace.spark.engine.runtime_directory import private

log = logging.getLogger(__name__)
_CHUNK: Final = 65_536
_MINUTE: Final = 60.0
REMARK: Final = "[headrace] "
"""Begins the lines that were not printed but added here."""
REMARKS: Final = ("WARNING:", "Using ", "Picked up ", REMARK.strip())
"""Begin the lines that a JVM prints at each start, and those of this module."""


class BoundedLog:
    """A file and its predecessors: ``name``, ``name.1``, ``name.2``, of which the oldest is removed for a new one.

    At most one file's size is written in a minute, and the rest is dropped, so that output in a loop wears no disk out.
    A line in the file reports all that was dropped, or that the disk did not take. For one thread only.
    """

    def __init__(self, path: Path, limits: ConsoleLimits, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin a new file. Not even a full disk is an error."""
        self._path = path
        self._limits = limits
        self._clock = clock
        self._since = clock()
        self._written = 0
        self._dropped = 0
        self._size = 0
        self._removed = 0
        self._rotate()

    def write(self, data: bytes) -> None:
        now = self._clock()
        if now - self._since >= _MINUTE:
            self._report_dropped()
            self._since, self._written = now, 0
        room = max(0, self._limits.max_bytes - self._written)
        self._written += len(data)
        if room:
            self._append(data[:room])
        if len(data) > room:
            self._drop(len(data) - room)

    def close(self) -> None:
        self._report_dropped()

    def _drop(self, size: int) -> None:
        if not self._dropped:
            limit = self._limits.max_bytes
            self._remark(f"more than {limit} bytes in a minute: what comes now is dropped until the minute is over")
            log.warning(
                "Spark or a task prints more than engine.console.max.bytes=%d in a minute; the rest is dropped. See %s",
                limit,
                self._path,
            )
        self._dropped += size

    def _report_dropped(self) -> None:
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._remark(f"{dropped} bytes were dropped")

    def _remark(self, text: str) -> None:
        self._append(f"\n{REMARK}{text}\n".encode())

    def _append(self, data: bytes) -> None:
        if self._size and self._size + len(data) > self._limits.max_bytes:
            self._rotate()
        try:
            # Not kept open: the space of a file that is removed or moved is free again.
            with open(self._path, "ab", opener=private) as file:
                file.write(data)
        except OSError:
            self._dropped += len(data)  # reported once the disk takes something again
        self._size += len(data)

    def _rotate(self) -> None:
        names = [
            self._path,
            *(self._path.with_name(f"{self._path.name}.{n}") for n in range(1, self._limits.max_files)),
        ]
        with suppress(OSError):
            self._removed += names[-1].stat().st_size
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            with suppress(OSError):
                newer.replace(older)
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        self._size = 0
        if self._removed:
            self._remark(f"{self._removed} bytes of older output were removed")


class Console:
    """A thread that copies a pipe to a ``BoundedLog`` and to the log, until the other side is closed.

    It logs in the context of the thread that makes it.
    """

    def __init__(self, pipe: IO[bytes], path: Path, limits: ConsoleLimits) -> None:
        self._pipe = pipe
        self._file = BoundedLog(path, limits)
        self._thread = threading.Thread(target=in_same_context(self._copy), name="spark-console", daemon=True)
        self._thread.start()

    def await_end(self, seconds: float) -> None:
        """Wait until all output is in the file; for ``seconds`` at most, as a child may keep the pipe open."""
        self._thread.join(seconds)

    def _copy(self) -> None:
        lines = PrintedLines()
        with self._pipe:
            while data := os.read(self._pipe.fileno(), _CHUNK):
                self._file.write(data)
                _log(lines.take(data))
        self._file.close()
        _log(lines.close())


def _log(lines: Iterable[Printed]) -> None:
    log_printed([line for line in lines if not line.text.startswith(REMARKS)])
