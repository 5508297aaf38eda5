# SPDX-License-Identifier: Apache-2.0
"""The audit log: a line of JSON for each decision about a request, in an append-only file."""

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
    """An append-only file that only the worker's user can read. Belongs to one thread.

    When the file was renamed or removed, as by log rotation, a new one is opened at its path.

    With ``chain`` each line has, as ``previous``, the SHA-256 of the line before: changed, removed and inserted lines
    are detectable, unless all that follow are written again.
    """

    def __init__(self, path: str, chain: bool, clock: Callable[[], float] = time.time) -> None:
        """Open the file. Raise ConfigError if it cannot be written to."""
        self._clock = clock
        self._path = path
        self._chain = chain
        self._previous: str | None = None
        self._torn = False
        """True if the file ends within a line."""
        try:
            self._fd = self._open()
        except BlockingIOError as error:
            reason = "another worker writes a chain there: each needs a file of its own"
            raise ConfigError.invalid(AUDIT_FILE, path, reason) from error
        except OSError as error:
            reason = f"it cannot be written to: {error.strerror}"
            raise ConfigError.invalid(AUDIT_FILE, path, reason) from error

    def write(self, entry: Mapping[str, Any]) -> None:
        """Append an entry. Raise ConnectError if that fails: what is not audited must not be done.

        The line is then not in the file, not even a part of it.
        """
        moment = time.gmtime(now := self._clock())
        stamped: dict[str, Any] = {"time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{int(now * 1000) % 1000:03}Z"}
        stamped.update(entry)
        try:
            self._reopen_if_rotated()
            if self._previous is not None:
                stamped[PREVIOUS] = self._previous
            line = json.dumps(stamped, ensure_ascii=True).encode()
            self._append(line + b"\n")
        except OSError as error:
            raise ConnectError(
                f"{AUDIT_FILE}={self._path} cannot be written to: {error.strerror}; "
                "no request is answered before it can be"
            ) from error
        if self._previous is not None:
            self._previous = _hash(line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _open(self) -> int:
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._lock_and_resume(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _lock_and_resume(self, fd: int) -> None:
        """Lock a chain for this process, and resume it at its last line, which a crash may have left incomplete."""
        if self._chain:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        last = _last_line(Path(self._path))
        self._torn = last is not None and not last.endswith(b"\n")
        if self._chain:
            self._previous = _FIRST if last is None else _hash(last.removesuffix(b"\n"))

    def _append(self, data: bytes) -> None:
        """Write all or nothing: on a full disk, remove a partial line, or else end it before the next one."""
        data = b"\n" * self._torn + data
        written = os.write(self._fd, data)
        if written < len(data):
            self._torn = not _truncate(self._fd, written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._torn = False

    def _reopen_if_rotated(self) -> None:
        """Open a new file if the former one is no longer at the path."""
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self._path), os.fstat(self._fd)):
                return
        former, self._fd = self._fd, self._open()
        os.close(former)


def _truncate(fd: int, written: int) -> bool:
    """Remove the last ``written`` bytes; return False if the file can only be appended to."""
    try:
        end = os.lseek(fd, 0, os.SEEK_CUR)
        if os.fstat(fd).st_size == end:  # else another worker has written behind it
            os.ftruncate(fd, end - written)
    except OSError:
        return False
    return True


def broken_lines(path: str) -> list[int]:
    """Return the numbers, from 1, of the lines whose ``previous`` is not the hash of the line before. Raise OSError."""
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
    except (ValueError, RecursionError):
        return None
    return entry.get(PREVIOUS) if isinstance(entry, dict) else None


def _last_line(path: Path) -> bytes | None:
    """Return the last line, with its line break if it has one; None for an empty file, and for no regular file."""
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
