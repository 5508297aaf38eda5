# SPDX-License-Identifier: Apache-2.0
"""A task's figures under Kafka Connect's metric names, reported to the worker about once a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

_WINDOW: Final = 30.0
_WINDOWS: Final = 2
"""Averages, minima and maxima are those of the newest windows, of so many seconds, as in Kafka Connect."""


class TaskMetrics:
    """Collects figures on the task's thread; ``report_if_due`` sends them once a second if something changed.

    Updated per poll, batch or transaction, never per record.
    """

    def __init__(
        self, report: Callable[[Mapping[str, float]], None], clock: Callable[[], float], interval: float = 1.0
    ) -> None:
        self._report = report
        self._clock = clock
        self._interval = interval
        self._next = clock() + interval
        self._changed = False
        self._values: dict[str, float] = {}
        self._samples: dict[tuple[str, str], deque[_Sample]] = {}

    def add(self, name: str, amount: float) -> None:
        self._values[name] = self._values.get(name, 0.0) + amount
        self._changed = True

    def gauge(self, name: str, value: float) -> None:
        self._values[name] = value
        self._changed = True

    def maximum(self, name: str, value: float) -> None:
        self._values[name] = max(self._values.get(name, value), value)
        self._changed = True

    def sample(self, name: str, value: float, suffix: str = "") -> None:
        """Add one of many values, reported as ``{name}-avg{suffix}``, ``-min`` and ``-max``."""
        samples = self._samples.setdefault((name, suffix), deque(maxlen=_WINDOWS))
        now = self._clock()
        if not samples or now - samples[-1].began >= _WINDOW:
            samples.append(_Sample(now, value))
        else:
            samples[-1].add(value)
        self._changed = True

    def report_if_due(self) -> None:
        if self._changed and self._clock() >= self._next:
            self.report()

    def report(self) -> None:
        now = self._clock()
        self._next = now + self._interval
        self._changed = False
        sampled: dict[str, float] = {}
        for (name, suffix), samples in self._samples.items():
            # Without recent samples the last window is reported.
            recent = [each for each in samples if now - each.began < _WINDOWS * _WINDOW] or [samples[-1]]
            mean = sum(each.total for each in recent) / sum(each.count for each in recent)
            sampled[f"{name}-avg{suffix}"] = mean
            sampled[f"{name}-min{suffix}"] = min(each.least for each in recent)
            sampled[f"{name}-max{suffix}"] = max(each.greatest for each in recent)
        self._report({**self._values, **sampled})


class _Sample:
    """The values of one window."""

    __slots__ = ("began", "count", "greatest", "least", "total")

    def __init__(self, began: float, value: float) -> None:
        self.began = began
        self.count = 1
        self.total = self.least = self.greatest = value

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        if value < self.least:
            self.least = value
        if value > self.greatest:
            self.greatest = value
