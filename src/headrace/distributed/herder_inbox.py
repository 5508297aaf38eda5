# SPDX-License-Identifier: Apache-2.0
"""The queue of events for the herder's thread, which every other thread may write to."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque

from headrace.distributed.core.herder_events import HerderEvent
from headrace.model.deadline import Clock


class HerderInbox:
    """Events in the order of their arrival, and events that are due later. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._events: deque[HerderEvent] = deque()
        self._later: list[tuple[float, int, HerderEvent]] = []
        self._numbers = itertools.count()

    def post(self, event: HerderEvent) -> None:
        """Add an event to the end of the queue. Never blocks."""
        with self._changed:
            self._events.append(event)
            self._changed.notify()

    def post_later(self, delay: float, event: HerderEvent) -> None:
        """Post ``event`` after ``delay`` seconds. Never blocks."""
        with self._changed:
            heapq.heappush(self._later, (self._clock() + delay, next(self._numbers), event))
            self._changed.notify()

    def take(self) -> list[HerderEvent]:
        """Return all events; waits for one if there is none. For the herder's thread."""
        with self._changed:
            while True:
                now = self._clock()
                while self._later and self._later[0][0] <= now:
                    self._events.append(heapq.heappop(self._later)[2])
                if self._events:
                    taken = list(self._events)
                    self._events.clear()
                    return taken
                self._changed.wait(self._later[0][0] - now if self._later else None)
