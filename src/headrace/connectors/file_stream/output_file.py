# SPDX-License-Identifier: Apache-2.0
"""Appends to a file, or the standard output, so that a failure leaves no partial batch behind."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeAlias, TypeVar

from headrace.api.errors import ConfigError, ConnectError, RetriableError

T = TypeVar("T")
Buffer: TypeAlias = bytes | memoryview
# A full disk or quota can be freed, a network file system can recover. All other errors are permanent.
_PASSING: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.EINTR, errno.EIO, errno.ENOBUFS, errno.ENOMEM, errno.ESTALE}
)


class OutputFile:
    """A file opened for appending; `path` None is the standard output.

    Raises ConnectError if the file cannot be opened or created.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._fd = self._calling("opened", self._open)
        self._regular = stat.S_ISREG(os.fstat(self._fd).st_mode)

    def append(self, data: Buffer) -> None:
        """Append all of `data`, or, if the file can be truncated, none of it.

        Raise RetriableError for an error that may pass, such as a full disk.
        """
        if not self._regular:
            self._calling("written to", lambda: self._write(data))
            return
        # Other tasks may append to the same file: their lines must not be truncated.
        with suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        size = os.fstat(self._fd).st_size
        try:
            self._calling("written to", lambda: self._write(data))
        except ConnectError:
            self._calling("cut back", lambda: os.ftruncate(self._fd, size))
            raise
        finally:
            with suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def sync(self) -> None:
        """Make all appended bytes durable. Raise errors as `append` does."""
        if self._regular:
            self._calling("written to disk", lambda: os.fdatasync(self._fd))

    def close(self) -> None:
        if self._path is not None:
            os.close(self._fd)

    def _open(self) -> int:
        if self._path is None:
            return sys.stdout.fileno()
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def _write(self, data: Buffer) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def _calling(self, what: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except OSError as error:
            message = f"file '{self._path or 'standard output'}' could not be {what}: {error.strerror}"
            # Where it cannot be opened, the property has to be corrected.
            lasting = ConfigError if call == self._open else ConnectError
            raise (RetriableError if error.errno in _PASSING else lasting)(message) from error
