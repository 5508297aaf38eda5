# SPDX-License-Identifier: Apache-2.0
"""Splits a stream of bytes into lines without a Python object per line."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.api.errors import ConnectError

_LF: Final = 0x0A
_CR: Final = 0x0D
_MAX_BYTES: Final = 2**31 - 1
_NONE: Final = np.empty(0, dtype=np.int64)


class Lines(NamedTuple):
    """Whole lines: their text without terminators, and for each the position in the stream just after it."""

    values: pa.StringArray
    positions: npt.NDArray[np.int64]


class LineSplitter:
    r"""Lines that end with ``\n``, ``\r`` or ``\r\n``; a last line waits for its end, however long it becomes.

    A ``\r`` at the very end of the fed bytes waits for the next byte, which may be its ``\n``. Bytes that are no UTF-8
    become U+FFFD. Positions count bytes. Belongs to one thread.
    """

    def __init__(self, position: int = 0) -> None:
        self._buffer = bytearray()
        self._position = position
        self._ends: npt.NDArray[np.int64] = _NONE
        self._crlf = False

    @property
    def position(self) -> int:
        """Position of the first byte that is not yet part of a taken line."""
        return self._position

    @property
    def lines(self) -> int:
        """Number of whole lines ready to be taken."""
        return len(self._ends)

    @property
    def ready(self) -> int:
        """Number of bytes of whole lines ready to be taken."""
        return int(self._ends[-1]) - self._position if len(self._ends) else 0

    @property
    def pending(self) -> int:
        """Number of bytes fed but not yet taken."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> None:
        """Append bytes. Only these are searched, so that a long line costs no more than short ones."""
        scanned = len(self._buffer)
        if scanned and self._buffer[-1] == _CR:
            scanned -= 1
            chunk = b"\r" + chunk
            self._buffer.pop()
        self._buffer += chunk
        if len(self._buffer) > _MAX_BYTES:
            raise ConnectError(f"The line at position {self._position} is longer than {_MAX_BYTES} bytes")
        ends = self._terminators(chunk)
        if len(ends):
            ends += self._position + scanned
            self._ends = np.concatenate((self._ends, ends)) if len(self._ends) else ends

    def take(self, limit: int) -> Lines | None:
        """Return the next lines, at most `limit`; None if there is no whole line."""
        ends = self._ends[:limit]
        if not len(ends):
            return None
        lines = self._cut(ends)
        self._ends = self._ends[limit:]
        if not len(self._ends):
            self._crlf = _CR in self._buffer
        return lines

    def take_unfinished(self) -> Lines | None:
        """Return the last line, if its end will never come; None if there is none. Called after the last `take`."""
        if not self._buffer:
            return None
        return self._cut(np.array([self._position + len(self._buffer)], dtype=np.int64))

    def _terminators(self, chunk: bytes) -> npt.NDArray[np.int64]:
        """Return the index just after each line terminator in `chunk`."""
        seen = np.frombuffer(chunk, dtype=np.uint8)
        is_end = seen == _LF
        if _CR in chunk:
            self._crlf = True
            # The last byte never counts: a line feed may follow.
            is_end[:-1] |= (seen[:-1] == _CR) & ~is_end[1:]
        return np.flatnonzero(is_end).astype(np.int64, copy=False) + 1

    def _cut(self, ends: npt.NDArray[np.int64]) -> Lines:
        size = int(ends[-1]) - self._position
        block = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        offsets = np.zeros(len(ends) + 1, dtype=np.int32)
        offsets[1:] = ends - self._position
        self._position += size
        if self._crlf:
            removed = np.cumsum(np.isin(np.frombuffer(block, dtype=np.uint8), (_LF, _CR)), dtype=np.int32)
            offsets[1:] -= removed[offsets[1:] - 1]
            text = block.translate(None, b"\r\n")
        else:
            text = block.replace(b"\n", b"")
            offsets[1:] -= np.arange(1, len(ends) + 1, dtype=np.int32)
            offsets[-1] = len(text)
        return Lines(_utf8(text, offsets), ends)


def _utf8(text: bytes, offsets: npt.NDArray[np.int32]) -> pa.StringArray:
    buffers: list[Any] = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    if text.isascii():
        return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
    values = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        raw = values.cast(pa.binary())
        return pa.array([line.as_py().decode("utf-8", "replace") for line in raw], pa.string())
    return values
