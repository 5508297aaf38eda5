# SPDX-License-Identifier: Apache-2.0
"""A file that is read again when it changes."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from headrace.api.errors import ConfigError

T = TypeVar("T")
log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0


class WatchedFile(Generic[T]):
    """What a file holds, as ``read`` understands it. Belongs to one thread, the server's event loop.

    A version of the file that cannot be used changes nothing: it is logged, and what was read before stays in force.
    """

    def __init__(self, path: str, read: Callable[[str], T], clock: Callable[[], float] = time.monotonic) -> None:
        """ConfigError of ``read`` at the first time."""
        self._path = path
        self._read = read
        self._clock = clock
        self._version = self._state()
        self._value = read(path)
        self._looked = clock()

    def get(self) -> T:
        """The file's content, not older than a second. Asks for the file's state once a second at most."""
        now = self._clock()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            version = self._state()
            if version != self._version:
                self._version = version
                self._reload()
        return self._value

    def _reload(self) -> None:
        try:
            self._value = self._read(self._path)
        except ConfigError as error:
            log.error("%s has changed and cannot be used, what was read before stays in force: %s", self._path, error)
        else:
            log.info("%s has changed and was read again", self._path)

    def _state(self) -> tuple[int, ...] | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
