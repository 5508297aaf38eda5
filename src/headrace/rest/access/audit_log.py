# SPDX-License-Identifier: Apache-2.0
"""The record of decisions about requests: a line of JSON each, in a file that only grows."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
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
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._previous = _last_hash(Path(path)) if chain else None
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
            os.write(self._fd, line + b"\n")
        except OSError as error:
            raise ConnectError(f"{AUDIT_FILE}={self._path} cannot be written to: {error.strerror}") from error
        if self._previous is not None:
            self._previous = _hash(line)

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


def _last_hash(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _TAIL_BYTES))
        lines = file.read().splitlines()
    return _hash(lines[-1]) if lines else _FIRST


def _hash(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
