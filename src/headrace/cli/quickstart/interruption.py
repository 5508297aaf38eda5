# SPDX-License-Identifier: Apache-2.0
"""SIGINT and SIGTERM of a quickstart: the first ends the copying, the next the comparison, one more the process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

_REPEATED_S: Final = 1.0
"""Seconds within which another signal is the same one: `timeout` sends SIGTERM to its child and to its group."""
_EXIT: Final = 128


class Interruption:
    """Raises KeyboardInterrupt on the main thread, for which it is, when a signal comes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, end: Callable[[int], None] = os._exit) -> None:
        self._clock = clock
        self._end = end
        self._at: float | None = None
        self._stopping = False
        self._number = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """The exit code of a process that the latest signal has ended."""
        return _EXIT + self._number

    def install(self) -> None:
        """Handle the signals from now on."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.on_signal)

    def stop(self) -> None:
        """Note that everything is being stopped: the next signal ends this process, and the system its children."""
        self._stopping = True

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Take a signal in."""
        now = self._clock()
        if self._at is not None and now - self._at < _REPEATED_S:
            return
        self._at, self._number = now, signal.Signals(number)
        if self._stopping:
            os.write(2, b"Forced to end\n")
            self._end(self.exit_code)
        else:
            raise KeyboardInterrupt
