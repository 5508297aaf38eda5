# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGINT of a worker's process, from before its first child process until its end."""

from __future__ import annotations

import logging
import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

log = logging.getLogger(__name__)
_REPEATED_S: Final = 1.0
"""Seconds within which a second signal is the first one again: `timeout` sends SIGTERM to its child and its group."""
_EXIT_FORCED: Final = 130
_EXIT_STOPPED: Final = 0


class StopRequestedError(BaseException):
    """A signal has come while the worker was put together. No Exception, so that nothing on the way handles it."""


class StopSignals:
    """The signals that stop a worker; a later one ends it by force. For the main thread, which receives them.

    Until `await_orderly` a signal raises StopRequestedError, and afterwards it is only noted.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: float | None = None
        self._interrupts = True
        # Not an Event: a handler that sets one waits for the lock that its own thread may hold in `wait`.
        self._reader, self._writer = os.pipe()

    @property
    def came_early(self) -> bool:
        """True if a signal has come before `await_orderly`."""
        return self._interrupts and self._first is not None

    def install(self) -> None:
        """Handle the signals from now on."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.on_signal)

    def await_orderly(self) -> None:
        """Only note signals from now on. Raise StopRequestedError if one has come, which code on the way has caught."""
        if self._first is not None:
            raise StopRequestedError
        self._interrupts = False

    def wait(self, seconds: float) -> bool:
        """Return True as soon as a signal has come, False after ``seconds``."""
        return bool(select.select([self._reader], [], [], seconds)[0])

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Take a signal in. Within a system call of the main thread, or between two steps of its code."""
        now = self._clock()
        if self._first is None:
            self._first = now
            os.write(self._writer, b"\0")
            if self._interrupts:
                raise StopRequestedError
        elif now - self._first >= _REPEATED_S:
            # The group's and the tasks' state stays as after a crash, which is as harmless.
            os.write(2, b"Forced to end\n")
            os._exit(_EXIT_FORCED)


def run_until_stopped(run: Callable[[StopSignals], int]) -> int:
    """Return the exit code of ``run``; 0 if a signal ends it early. An ordered stop is a success, whenever it comes."""
    signals = StopSignals()
    signals.install()
    try:
        return run(signals)
    except BaseException:
        if not signals.came_early:
            raise
        log.info("Stopped before it was ready")
        return _EXIT_STOPPED
