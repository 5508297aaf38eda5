# SPDX-License-Identifier: Apache-2.0
"""Files that are read again when one of them changes."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)

_CHECK_SECONDS: Final = 1.0


class WatchedFiles(Generic[T]):
    """The value that ``read`` makes from some files. Thread-safe.

    New versions that cannot be used are logged, and the former value stays in force.
    """

    def __init__(
        self, paths: Sequence[str], read: Callable[[], T], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Read the files for the first time; raise the ConfigError of ``read``."""
        self._paths = tuple(paths)
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._version = self._state()
        self._value = read()
        self._checked_at = clock()

    def get(self) -> T:
        """Return the current value, at most a second old. Stats the files at most once a second."""
        with self._lock:
            now = self._clock()
            if now - self._checked_at >= _CHECK_SECONDS:
                self._checked_at = now
                version = self._state()
                if version != self._version:
                    self._version = version
                    self._reload()
            return self._value

    def _reload(self) -> None:
        try:
            self._value = self._read()
        except Exception as error:  # of any kind: a defect of the reader must not let a request in
            log.error("%s: changed and cannot be used, what was read before stays in force: %s", self._names(), error)
        else:
            log.info("%s: changed and read again", self._names())

    def _names(self) -> str:
        return ", ".join(self._paths)

    def _state(self) -> list[tuple[int, ...] | None]:
        return [_state_of(path) for path in self._paths]


def _state_of(path: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
