# SPDX-License-Identifier: Apache-2.0
"""A task's figures under Kafka Connect's metric names, reported to the worker about once a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping


class TaskMetrics:
    """Counts on the task's thread; ``report_if_due`` sends them when a second has passed and something changed."""

    def __init__(
        self, report: Callable[[Mapping[str, float]], None], clock: Callable[[], float], interval: float = 1.0
    ) -> None:
        self._report = report
        self._clock = clock
        self._interval = interval
        self._next = clock() + interval
        self._changed = False
        self._values: dict[str, float] = {}

    def add(self, name: str, amount: float) -> None:
        self._values[name] = self._values.get(name, 0.0) + amount
        self._changed = True

    def maximum(self, name: str, value: float) -> None:
        self._values[name] = max(self._values.get(name, value), value)
        self._changed = True

    def report_if_due(self) -> None:
        if self._changed and self._clock() >= self._next:
            self.report()

    def report(self) -> None:
        self._next = self._clock() + self._interval
        self._changed = False
        self._report(dict(self._values))
