# SPDX-License-Identifier: Apache-2.0
"""A task's figures under Kafka Connect's metric names, and those of its plugins, reported about once a second."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from headrace.api.plugin_metrics import Monitorable
from headrace.metrics.plugin_metrics import OwnPluginMetrics, PluginRegistry
from headrace.task.task_progress import TaskProgress
from headrace.task.task_steps import TaskSteps

log = logging.getLogger(__name__)
_WINDOW: Final = 30.0
_WINDOWS: Final = 2
"""Averages, minima and maxima are those of the newest windows, of so many seconds, as in Kafka Connect."""

Monitor = Callable[[object, Mapping[str, str]], None]
"""Called with a plugin that is configured, and the tags that its metrics have beside the task's."""


def no_monitor(plugin: object, tags: Mapping[str, str]) -> None:
    """Do nothing: there is no task that could report the plugin's metrics."""


class TaskMetrics:
    """Collects figures on the task's thread; ``report_if_due`` sends them once a second if something changed.

    Updated per poll, batch or transaction, never per record.
    """

    def __init__(
        self,
        report: Callable[[Mapping[str, float]], None],
        clock: Callable[[], float],
        interval: float = 1.0,
        progress: TaskProgress | None = None,
        steps: TaskSteps | None = None,
    ) -> None:
        self.progress = progress or TaskProgress(clock)
        """The task's stage and progress, which the owner of ``report`` sends along."""
        self.steps = steps or TaskSteps()
        """The counts of the task's steps, which it sends along too."""
        self._reported_steps = self.steps.counts()
        self._report = report
        self._clock = clock
        self._interval = interval
        self._next = self._next_refresh = clock() + interval
        self._changed = False
        self._values: dict[str, float] = {}
        self._replaced: dict[str, Mapping[str, float]] = {}
        self._refresh: list[Callable[[], None]] = []
        self._samples: dict[tuple[str, str | None], deque[_Sample]] = {}
        """By name and suffix; those of outcomes have no suffix."""
        self._size_due = True

    def declare(self, *totals: str) -> None:
        """Have totals reported from the first report on, with 0."""
        for name in totals:
            self.add(name, 0.0)

    def before_report(self, refresh: Callable[[], None]) -> None:
        """Have ``refresh`` called before each report that is due, to bring figures up to date."""
        self._refresh.append(refresh)

    def replace(self, source: str, values: Mapping[str, float]) -> None:
        """Replace all figures of ``source``: those of what is gone are not reported any more. Any thread."""
        if self._replaced.get(source) != values:
            self._replaced[source] = values
            self._changed = True

    def add(self, name: str, amount: float) -> None:
        self._values[name] = self._values.get(name, 0.0) + amount
        self._changed = True

    def gauge(self, name: str, value: float) -> None:
        if self._values.get(name) != value:
            self._values[name] = value
            self._changed = True

    def level(self, name: str, value: float) -> None:
        """Set a gauge whose average and maximum are reported too, over the values that it has had."""
        if self._values.get(name) != value:
            self.gauge(name, value)
            self.sample(name, value)

    def outcome(self, name: str, succeeded: bool) -> None:
        """Count a success or a failure, for ``{name}-success-percentage`` and ``-failure-percentage`` (up to 1)."""
        self._sample((name, None), float(succeeded))

    def maximum(self, name: str, value: float) -> None:
        self._values[name] = max(self._values.get(name, value), value)
        self._changed = True

    def sample(self, name: str, value: float, suffix: str = "") -> None:
        """Add one of many values, reported as ``{name}-avg{suffix}``, ``-min`` and ``-max``."""
        self._sample((name, suffix), value)

    def sample_size(self, mean: Callable[[], float | None]) -> None:
        """Sample the mean size of a batch's records, in bytes, if none was sampled since the last report.

        Only then ``mean`` is called; it returns None for a batch without records.
        """
        if self._size_due and (size := mean()) is not None:
            self._size_due = False
            self.sample("record-size", size)

    def _sample(self, key: tuple[str, str | None], value: float) -> None:
        samples = self._samples.setdefault(key, deque(maxlen=_WINDOWS))
        now = self._clock()
        if not samples or now - samples[-1].began >= _WINDOW:
            samples.append(_Sample(now, value))
        else:
            samples[-1].add(value)
        self._changed = True

    def report_if_due(self) -> None:
        now = self._clock()
        if now < self._next:
            return
        if now >= self._next_refresh:
            self._next_refresh = now + self._interval
            for refresh in self._refresh:
                refresh()
        if self._has_news():
            self.report()

    def report_last(self) -> None:
        """Report what is not reported yet, as the attempt ends; a worker that cannot be reached is no error."""
        if self._has_news():
            try:
                self.report()
            except Exception:
                log.debug("the last figures of the task are not reported", exc_info=True)

    def report(self) -> None:
        now = self._clock()
        self._next = now + self._interval
        self._changed, self._size_due, self._reported_steps = False, True, self.steps.counts()
        sampled: dict[str, float] = {}
        for (name, suffix), samples in self._samples.items():
            # Without recent samples the last window is reported.
            recent = [each for each in samples if now - each.began < _WINDOWS * _WINDOW] or [samples[-1]]
            mean = sum(each.total for each in recent) / sum(each.count for each in recent)
            if suffix is None:
                sampled |= {f"{name}-success-percentage": mean, f"{name}-failure-percentage": 1 - mean}
                continue
            sampled[f"{name}-avg{suffix}"] = mean
            sampled[f"{name}-min{suffix}"] = min(each.least for each in recent)
            sampled[f"{name}-max{suffix}"] = max(each.greatest for each in recent)
        # A list: a client that is polled on another thread may replace its figures meanwhile.
        replaced = {name: value for values in list(self._replaced.values()) for name, value in values.items()}
        self._report({**self._values, **sampled, **replaced})

    def _has_news(self) -> bool:
        return self._changed or self._reported_steps != self.steps.counts()


class TaskPluginMetrics:
    """The metrics that a task and its plugins register themselves (KIP-877).

    Registered by any thread, read on the task's thread.
    """

    def __init__(self, metrics: TaskMetrics) -> None:
        self.registry = PluginRegistry()
        metrics.before_report(lambda: metrics.replace("plugins", self.registry.read()))

    def monitor(self, plugin: object, tags: Mapping[str, str]) -> None:
        """Give a plugin that is ``Monitorable`` its registry; a ``Monitor``."""
        if isinstance(plugin, Monitorable):
            plugin.with_plugin_metrics(OwnPluginMetrics(self.registry, tags))


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
