# SPDX-License-Identifier: Apache-2.0
"""Detection of a wall clock that is set back under a process with Kafka clients.

librdkafka waits until points in time of the wall clock (its issue 2145): when the clock is set back, its threads stand
still for that long, without an error and without heartbeats. Only a new process has working clients. The process ends
as by a crash, since its clients cannot be closed either; so no record is lost or doubled (invariants 2 to 5 and 9).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

BORNE_SECONDS: Final = 30.0
"""Seconds; sessions and transactions survive a shorter pause."""
EXIT_STATUS: Final = 75
"""EX_TEMPFAIL: a restart helps."""
_LOOK_SECONDS: Final = 1.0


class SetBackClock:
    """A comparison of the wall clock with a monotonic one. For one thread."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._ahead = wall() - steady()

    def seconds_set_back(self) -> float | None:
        """Return the seconds that the wall clock was set back since the last call; None if too few to matter."""
        before, self._ahead = self._ahead, self._wall() - self._steady()
        back = before - self._ahead
        return back if back > BORNE_SECONDS else None

    def exit_if_set_back(self, who: str) -> None:
        """End the process immediately if the clock was set back; ``who`` starts the log line."""
        if (back := self.seconds_set_back()) is None:
            return
        log.critical(
            "%s ends: the clock of this machine was set back by %.0f s, for which Kafka's clients would stand still; "
            "a new process continues",
            who,
            back,
        )
        os._exit(EXIT_STATUS)


def watch_clock(who: str) -> None:
    """Start a thread that ends this process when the clock is set back."""
    clock = SetBackClock()

    def watch() -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            clock.exit_if_set_back(who)

    threading.Thread(target=watch, name="wall-clock", daemon=True).start()
