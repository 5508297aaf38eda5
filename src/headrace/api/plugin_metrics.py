# SPDX-License-Identifier: Apache-2.0
"""Metrics of plugins' own (KIP-877)."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping


class Counter:
    """A total that only grows, of any thread; from `PluginMetrics.counter`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value = 0.0

    def add(self, amount: float = 1.0) -> None:
        """Count `amount` more. Raise ValueError if it is negative."""
        if amount < 0:
            raise ValueError(f"a counter only grows: {amount} is negative")
        with self._lock:
            self._value += amount

    def value(self) -> float:
        """Return the total, from 0 when the counter was registered."""
        return self._value


class PluginMetrics(ABC):
    """Registers metrics that a worker shows beside its own (Java: `org.apache.kafka.common.metrics.PluginMetrics`).

    They are of the group `plugins`, with the tags `connector` and `task`, and are reported about once a second. Those
    of a connector have no tag `task`, and are read whenever the worker's metrics are. A name is written as Kafka's are,
    such as `rows-read-total`; only totals end in `-total`. Any thread may call all methods. In Java metrics are made of
    a `MetricName` and a provider or sensor; here a gauge and a counter are enough.
    """

    @abstractmethod
    def gauge(
        self, name: str, description: str, value: Callable[[], float], tags: Mapping[str, str] | None = None
    ) -> None:
        """Register a value that is read before each report, by `value`, on the thread of the task or connector.

        It must not block. If `value` raises, the metric is left out of the report. Raise ConnectError if there is a
        metric with this name and these tags, or if a tag is called `connector` or `task`.
        """

    @abstractmethod
    def counter(self, name: str, description: str, tags: Mapping[str, str] | None = None) -> Counter:
        """Register a counter and return it. Raise ConnectError as `gauge` does."""

    @abstractmethod
    def remove(self, name: str, tags: Mapping[str, str] | None = None) -> None:
        """Remove a metric; nothing happens if there is none. All are removed when the task or connector ends."""


class Monitorable:
    """A base class of converters, transformations and predicates with metrics of their own (Java: `Monitorable`).

    Connectors and tasks have `context.plugin_metrics()` instead.
    """

    def with_plugin_metrics(self, metrics: PluginMetrics) -> None:
        """Keep the registry. Called once, after `configure`, in the task's process.

        Its metrics have one more tag: `converter` (key, value or header), or `transform` or `predicate` with the alias.
        """
