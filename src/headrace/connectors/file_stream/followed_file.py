# SPDX-License-Identifier: Apache-2.0
"""Reads a growing file, like ``tail -F``: through truncation, and through replacement by another file of its name.

Reads a named pipe too, through any number of writers. As no file gives notice of new data, there is a wait between
polls.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from headrace.api.errors import ConfigError, ConnectError
from headrace.connectors.common.interruptible_wait import InterruptibleWait

_GRACE_SECONDS: Final = 1.0
_PIPES_CHUNK: Final = 4096
"""Bytes read from a pipe are lost to all other readers, so only few are read ahead."""
_SHORTEST: Final = 0.002
_LONGEST: Final = 1.0
"""As Java's task waits. To look ten times a second is most of what an idle task costs: 0.13 s of CPU a minute."""
_SHARE: Final = 8


class FileEvent(Enum):
    """The reason why `FollowedFile.read` returns no bytes."""

    END = auto()
    """The end of the file is reached for now."""
    MISSING = auto()
    """There is no file of this name yet."""
    TRUNCATED = auto()
    """The file became shorter than the bytes read of it: the next bytes are those at its start."""
    REPLACED = auto()
    """The name belongs to another file, and the old one is read to its end: the next bytes are the new one's.

    The old file is closed only when nothing was added to it for a second, because a writer that rotates its logs often
    writes to the renamed file for another moment.
    """


class FollowedFile:
    """The bytes of the file `path` from `position` on. For one thread; never blocks for longer than a disk access.

    Closed files cannot be distinguished: a file that was replaced while it was not open counts as the former one,
    unless it is shorter than `position`.

    A named pipe stays open until `close`, so that its writers come and go and never fail. It has no `position`: the
    next bytes that arrive are read.
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
        """Return the next bytes, at most `size` and at least one, or an event of the file.

        Raise ConnectError if the file exists and cannot be read.
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
            # An idle poll costs no more than this look-up of the size.
            return self._take(self._fd, size) if status.st_size > self._position else FileEvent.END
        except OSError as error:
            kind = ConfigError if isinstance(error, PermissionError) else ConnectError
            raise kind(f"File '{self._path}' cannot be read: {error.strerror}") from error

    def unread(self) -> int | None:
        """Return the number of bytes that are not read yet; None for a pipe, and for a file that is not there."""
        try:
            if self._fd is None or self._is_pipe:
                return None
            status, opened = self._status(), os.fstat(self._fd)
        except OSError:
            return None
        new = 0 if (status.st_dev, status.st_ino) == self._identity else status.st_size
        return max(0, opened.st_size - self._position) + new

    def close(self) -> None:
        """Close the file. May be called more than once."""
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
            raise ConfigError(f"File '{self._path}' cannot be read: it is {kind}")
        self._identity = (status.st_dev, status.st_ino)
        if self._is_pipe:
            return None
        if status.st_size < self._position:
            return self._from_start(FileEvent.TRUNCATED)
        os.lseek(fd, self._position, os.SEEK_SET)
        return None

    def _status(self) -> os.stat_result:
        """Return the status of the file that has the name now; of the open one if that is missing or out of reach."""
        assert self._fd is not None
        try:
            return os.stat(self._path)
        except OSError:
            return os.fstat(self._fd)

    def _take(self, fd: int, size: int) -> bytes | FileEvent:
        try:
            chunk = os.read(fd, min(size, _PIPES_CHUNK) if self._is_pipe else size)
        except BlockingIOError:  # a pipe whose writers are idle
            return FileEvent.END
        self._position += len(chunk)
        return chunk or FileEvent.END

    def _finish(self, fd: int, size: int) -> bytes | FileEvent:
        """Continue with a file that has lost its name, until nothing was added to it for a while."""
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


class AdaptiveWait:
    """A wait of an eighth of the time since the last activity, within 2 ms and a second.

    So data that comes every 50 ms is seen within a few ms, and an idle source costs one poll a second.
    `wake` and `interrupt` may be called from any thread, the rest belongs to one thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._active_at = clock()
        self._wait = InterruptibleWait()

    @property
    def woken(self) -> bool:
        """True once `wake` was called."""
        return self._wait.woken

    def active(self) -> None:
        """Note that there was data: the next waits are short."""
        self._active_at = self._clock()

    def delay(self) -> float:
        """Return the duration of the next wait, in seconds."""
        return min(max((self._clock() - self._active_at) / _SHARE, _SHORTEST), _LONGEST)

    def wait(self) -> bool:
        """Wait; return at once after `wake`. Return True if the wait was ended by `interrupt`."""
        return self._wait.wait(self.delay())

    def interrupt(self) -> None:
        """End the present wait, or else the next one."""
        self._wait.interrupt()

    def wake(self) -> None:
        """End the present wait and all future ones."""
        self._wait.wake()
