# SPDX-License-Identifier: Apache-2.0
"""The metrics that a Java connector registers (KIP-877), in its host. Needs this process's JVM.

Kafka's own registry keeps them. The worker is given each metric with a number, by which it asks for the value.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

from headrace.api.errors import ConnectError
from headrace.java.calls import Request
from headrace.java.jvm import java_class, jpype

_METRICS: Final = "org.apache.kafka.common.metrics"
_GROUP: Final = "plugins"
_CONNECTOR: Final = "connector"


class ConnectorMetrics:
    """The metrics of one connector. Thread-safe."""

    def __init__(self, connector: str, request: Request) -> None:
        """``request`` calls the worker."""
        self._connector = connector
        self._request = request
        self._numbers = itertools.count()
        self._metrics: dict[int, Any] = {}
        self._registry: Any = None

    def registry(self) -> Any:
        """Return Java's ``PluginMetrics`` of the connector."""
        if self._registry is None:
            reporters, tags = java_class("java.util.ArrayList")(), java_class("java.util.LinkedHashMap")()
            reporters.add(jpype().JProxy(f"{_METRICS}.MetricsReporter", inst=_Reporter(self)))
            tags.put(_CONNECTOR, self._connector)
            config, time = java_class(f"{_METRICS}.MetricConfig")(), java_class("org.apache.kafka.common.utils.Time")
            metrics = java_class(f"{_METRICS}.Metrics")(config, reporters, time.SYSTEM)
            self._registry = java_class(f"{_METRICS}.internals.PluginMetricsImpl")(metrics, tags)
        return self._registry

    def value(self, number: int) -> float:
        """Return the value of a metric now. Raise ConnectError if it is no number."""
        value = self._metrics[number].metricValue()
        if not isinstance(value, java_class("java.lang.Number")):
            raise ConnectError(f"a metric of connector {self._connector} is no number but {value}")
        return float(value.doubleValue())

    def add(self, metric: Any) -> None:
        """Pass a metric on to the worker."""
        name = metric.metricName()
        if str(name.group()) == _GROUP:
            number = next(self._numbers)
            self._metrics[number] = metric
            self._request("add_metric", number, str(name.name()), str(name.description()), _tags(name))

    def remove(self, metric: Any) -> None:
        """Have the worker forget a metric."""
        name = metric.metricName()
        for number in [number for number, known in self._metrics.items() if known.metricName().equals(name)]:
            del self._metrics[number]
            self._request("remove_metric", str(name.name()), _tags(name))


def _tags(name: Any) -> dict[str, str]:
    entries = ((str(entry.getKey()), str(entry.getValue())) for entry in name.tags().entrySet())
    return {tag: value for tag, value in entries if tag != _CONNECTOR}


class _Reporter:
    """A listener of Kafka's registry. Java: ``MetricsReporter``."""

    def __init__(self, metrics: ConnectorMetrics) -> None:
        self._metrics = metrics

    def init(self, metrics: Any) -> None:
        for metric in metrics:
            self._metrics.add(metric)

    def metricChange(self, metric: Any) -> None:
        self._metrics.add(metric)

    def metricRemoval(self, metric: Any) -> None:
        self._metrics.remove(metric)

    def contextChange(self, context: Any) -> None:
        """Do nothing. JPype cannot fall back on the interface's own method."""

    def configure(self, configs: Any) -> None:
        """Do nothing: there is nothing to configure."""

    def close(self) -> None:
        """Do nothing: the process ends."""
