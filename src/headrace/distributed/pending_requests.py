# SPDX-License-Identifier: Apache-2.0
"""Requests of other threads that wait for the herder."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import Future
from typing import Any


class PendingRequests:
    """Futures by number, so that events and actions stay plain values. Thread-safe."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._futures: dict[int, Future[Any]] = {}

    def add(self, future: Future[Any]) -> int:
        """Return the number under which ``future`` will be ended."""
        with self._lock:
            number = next(self._numbers)
            self._futures[number] = future
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

    def fail_all(self, error: BaseException) -> None:
        """End all pending requests with an error."""
        with self._lock:
            numbers = list(self._futures)
        for number in numbers:
            self.fail(number, error)

    def _remove(self, number: int) -> Future[Any] | None:
        with self._lock:
            return self._futures.pop(number, None)
