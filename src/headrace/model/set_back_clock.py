# SPDX-License-Identifier: Apache-2.0
"""Wall clocks that are set back under a process with Kafka clients.

librdkafka waits until moments of the wall clock (its issue 2145): by however much that is set back, its threads stand
still, without an error and without heartbeats. Only a new process has clients that go on. It ends as by a crash, since
its clients end no better than they go on; so nothing is lost or doubled (invariants 2 to 5 and 9).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Final

_log = logging.getLogger(__name__)

BORNE_SECONDS: Final = 30.0
"""A shorter pause is one of those that sessions and transactions survive."""
EXIT_STATUS: Final = 75
"""EX_TEMPFAIL: who is started again goes on."""
_LOOK_SECONDS: Final = 1.0


class SetBackClock:
    """Compares the wall clock with one that only goes forward. Belongs to one thread."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._ahead = wall() - steady()

    def look(self) -> float | None:
        """By how many seconds the wall clock was set back since the last look; None if by none that matter."""
        before, self._ahead = self._ahead, self._wall() - self._steady()
        back = before - self._ahead
        return back if back > BORNE_SECONDS else None

    def end_if_set_back(self, who: str) -> None:
        """End the process, here and now, if the clock was set back; ``who`` is what starts the line that says so."""
        if (back := self.look()) is None:
            return
        _log.critical(
            "%s ends: the clock of this machine was set back by %.0f s, for which Kafka's clients would stand still; "
            "a new process goes on",
            who,
            back,
        )
        os._exit(EXIT_STATUS)


def watch_clock(who: str) -> None:
    """Have a thread of its own end this process when the clock is set back."""
    clock = SetBackClock()

    def watch() -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            clock.end_if_set_back(who)

    threading.Thread(target=watch, name="wall-clock", daemon=True).start()
