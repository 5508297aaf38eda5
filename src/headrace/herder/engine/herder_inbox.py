# SPDX-License-Identifier: Apache-2.0
"""The way of other threads to the herder's: the queue of its events, and the requests that wait for its answers."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any

from headrace.herder.core.herder_events import HerderEvent
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


class PendingRequests:
    """Futures by number, so that events and actions stay plain values. Thread-safe."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._futures: dict[int, Future[Any]] = {}
        self._closed: BaseException | None = None

    def add(self, future: Future[Any]) -> int:
        """Return the number under which ``future`` will be ended; once this is closed, it fails at once."""
        with self._lock:
            number, closed = next(self._numbers), self._closed
            self._futures[number] = future
        if closed is not None:
            self.fail(number, closed)
        return number

    def succeed(self, number: int, result: object) -> None:
        """End a request with a result. A request that was cancelled or has ended is ignored."""
        future = self._remove(number)
        if future is not None and future.set_running_or_notify_cancel():
            future.set_result(result)

    def fail(self, number: int, error: BaseException) -> None:
        """End a request with an error. A request that was cancelled or has ended is ignored."""
        future = self._remove(number)
        if future is not None and future.set_running_or_notify_cancel():
            future.set_exception(error)

    def close(self, error: BaseException) -> None:
        """End all pending requests with an error, and all that come later."""
        with self._lock:
            self._closed = error
            numbers = list(self._futures)
        for number in numbers:
            self.fail(number, error)

    def _remove(self, number: int) -> Future[Any] | None:
        with self._lock:
            return self._futures.pop(number, None)
