# SPDX-License-Identifier: Apache-2.0
"""Reads a file that grows, like ``tail -F``: through truncation and through replacement by another file of its name.

And a named pipe, through any number of writers.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from headrace.api.errors import ConnectError

_GRACE_SECONDS: Final = 1.0
_PIPES_CHUNK: Final = 4096
"""What is read of a pipe is gone for everybody else, so little is read ahead of what is taken."""


class FileEvent(Enum):
    """Why `FollowedFile.read` has nothing to give."""

    END = auto()
    """Everything that is there has been read."""
    MISSING = auto()
    """There is no file of this name yet."""
    TRUNCATED = auto()
    """The file became shorter than what was read of it: what follows is read from its start."""
    REPLACED = auto()
    """The name belongs to another file and the old one is read to its end: what follows is the new one's start.

    The old file is left only when nothing was added to it for a second, because a writer that rotates its logs often
    goes on with the renamed file for a moment.
    """


class FollowedFile:
    """The bytes of the file `path` from `position` on. Belongs to one thread; never blocks for more than a disk does.

    Nothing tells files apart once they are closed: a file that was replaced while nobody had it open is taken for the
    one that was there before, unless it is shorter than `position`.

    A named pipe is open as long as this is, so that its writers come and go and never fail. It has no `position` to go
    to: whatever comes next is read.
    """

    def __init__(self, path: str, position: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._position = position
        self._clock = clock
        self._fd: int | None = None
        self._identity: tuple[int, int] | None = None
        self._is_pipe = False
        self._replaced_at: float | None = None

    def read(self, size: int) -> bytes | FileEvent:
        """At most `size` bytes that come next, never none, or what became of the file.

        ConnectError when the file is there and cannot be read.
        """
        try:
            if self._fd is None and (event := self._open()) is not None:
                return event
            assert self._fd is not None
            status = self._status()
            if (status.st_dev, status.st_ino) != self._identity:
                return self._finish(self._fd, size)
            self._replaced_at = None
            if self._is_pipe:
                return self._take(self._fd, size)
            if status.st_size < self._position:
                return self._from_start(FileEvent.TRUNCATED)
            # Asking for the size is all that an idle look costs.
            return self._take(self._fd, size) if status.st_size > self._position else FileEvent.END
        except OSError as error:
            raise ConnectError(f"File '{self._path}' cannot be read: {error.strerror}") from error

    def close(self) -> None:
        """May be called more than once."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> FileEvent | None:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return FileEvent.MISSING
        self._fd = fd
        status = os.fstat(fd)
        self._is_pipe = stat.S_ISFIFO(status.st_mode)
        if not self._is_pipe and not stat.S_ISREG(status.st_mode):
            self.close()
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "neither a regular file nor a named pipe"
            raise ConnectError(f"File '{self._path}' cannot be read: it is {kind}")
        self._identity = (status.st_dev, status.st_ino)
        if self._is_pipe:
            return None
        if status.st_size < self._position:
            return self._from_start(FileEvent.TRUNCATED)
        os.lseek(fd, self._position, os.SEEK_SET)
        return None

    def _status(self) -> os.stat_result:
        """Of the file that has the name now; of the open one if there is none, or none to be reached."""
        assert self._fd is not None
        try:
            return os.stat(self._path)
        except OSError:
            return os.fstat(self._fd)

    def _take(self, fd: int, size: int) -> bytes | FileEvent:
        try:
            chunk = os.read(fd, min(size, _PIPES_CHUNK) if self._is_pipe else size)
        except BlockingIOError:  # a pipe's writer has nothing for now
            return FileEvent.END
        self._position += len(chunk)
        return chunk or FileEvent.END

    def _finish(self, fd: int, size: int) -> bytes | FileEvent:
        """Go on with a file that has lost its name, until nothing was added to it for a while."""
        now = self._clock()
        got = self._take(fd, size)
        if got is not FileEvent.END or self._replaced_at is None:
            self._replaced_at = now
        if now - self._replaced_at < _GRACE_SECONDS:
            return got
        self.close()
        self._position = 0
        self._replaced_at = None
        return FileEvent.REPLACED

    def _from_start(self, event: FileEvent) -> FileEvent:
        assert self._fd is not None
        os.lseek(self._fd, 0, os.SEEK_SET)
        self._position = 0
        return event
