# SPDX-License-Identifier: Apache-2.0
"""The record of decisions about requests: a line of JSON each, in a file that only grows."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from headrace.api.errors import ConfigError, ConnectError
from headrace.config.access_config import AUDIT_FILE

_FIRST: Final = "0" * 64
_TAIL_BYTES: Final = 1 << 16
PREVIOUS: Final = "previous"


class AuditLog:
    """Appends to a file that only the worker's user can read. Belongs to one thread.

    With ``chain`` each line has, as ``previous``, the SHA-256 of the line before: a line that is changed, taken out or
    put in shows, unless all that follow are made anew.
    """

    def __init__(self, path: str, chain: bool, clock: Callable[[], float] = time.time) -> None:
        """ConfigError if the file cannot be written to."""
        self._clock = clock
        self._path = path
        self._previous: str | None = None
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._claim(chain)
        except BlockingIOError as error:
            os.close(self._fd)
            reason = "another worker writes a chain there: each needs a file of its own"
            raise ConfigError.invalid(AUDIT_FILE, path, reason) from error
        except OSError as error:
            reason = f"it cannot be written to: {error.strerror}"
            raise ConfigError.invalid(AUDIT_FILE, path, reason) from error

    def write(self, entry: Mapping[str, Any]) -> None:
        """Raise ConnectError if it cannot be written: what is not on record is not to be done."""
        moment = time.gmtime(now := self._clock())
        stamped: dict[str, Any] = {"time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{int(now * 1000) % 1000:03}Z"}
        stamped.update(entry)
        if self._previous is not None:
            stamped[PREVIOUS] = self._previous
        line = json.dumps(stamped, ensure_ascii=True).encode()
        try:
            self._append(line + b"\n")
        except OSError as error:
            raise ConnectError(f"{AUDIT_FILE}={self._path} cannot be written to: {error.strerror}") from error
        if self._previous is not None:
            self._previous = _hash(line)

    def _append(self, data: bytes) -> None:
        """All of it or nothing: of a line that a full disk has cut off no part stays."""
        written = os.write(self._fd, data)
        if written < len(data):
            with suppress(OSError):
                os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _claim(self, chain: bool) -> None:
        """A chain is of one process alone. What was written in part, when the machine went down, gets an end."""
        if chain:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        last = _last_line(Path(self._path))
        if last is not None and not last.endswith(b"\n"):
            self._append(b"\n")
        if chain:
            self._previous = _FIRST if last is None else _hash(last.removesuffix(b"\n"))

    def close(self) -> None:
        os.close(self._fd)


def broken_lines(path: str) -> list[int]:
    """The numbers, from 1 on, of the lines whose ``previous`` is not the hash of the line before. Raise OSError."""
    broken, previous = [], _FIRST
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            text = line.rstrip(b"\n")
            if _previous_of(text) != previous:
                broken.append(number)
            previous = _hash(text)
    return broken


def _previous_of(line: bytes) -> Any:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry.get(PREVIOUS) if isinstance(entry, dict) else None


def _last_line(path: Path) -> bytes | None:
    """With the line break at its end, if it has one; None of an empty file, and of what is no file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = end = file.seek(0, os.SEEK_END)
        tail = b""
        while start > 0 and tail.count(b"\n", 0, -1) == 0:
            start = max(0, end - max(_TAIL_BYTES, 2 * len(tail)))
            file.seek(start)
            tail = file.read(end - start)
    return tail[tail.rfind(b"\n", 0, -1) + 1 :] or None


def _hash(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
