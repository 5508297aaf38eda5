# SPDX-License-Identifier: Apache-2.0
"""Metrics of Java plugins' own (KIP-877): kept by Kafka's registry in the JVM, shown by that of task or connector."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from headrace.api.plugin_metrics import PluginMetrics
from headrace.java.data import java_map
from headrace.java.jvm import java_class
from headrace.java.task_calls import proxy

_METRICS: Final = "org.apache.kafka.common.metrics"
_GROUP: Final = "plugins"
NO_TAGS: Final[Mapping[str, str]] = MappingProxyType({})


def java_plugin_metrics(metrics: PluginMetrics, tags: Mapping[str, str] = NO_TAGS) -> Any:
    """Return Java's ``PluginMetrics``. Each of its metrics is a gauge of ``metrics`` until it is removed.

    In Java they have ``tags``, too, which ``metrics`` adds by itself.
    """
    registry = java_class(f"{_METRICS}.Metrics")()
    registry.addReporter(_reporter(metrics, tags.keys()))
    return java_class(f"{_METRICS}.internals.PluginMetricsImpl")(registry, java_map(tags))


def _reporter(metrics: PluginMetrics, left_out: Collection[str]) -> Any:
    def added(metric: Any) -> None:
        name = metric.metricName()
        if str(name.group()) == _GROUP:  # the registry has a metric of its own
            metrics.gauge(str(name.name()), str(name.description()), partial(_value, metric), _tags(name, left_out))

    def removed(metric: Any) -> None:
        name = metric.metricName()
        metrics.remove(str(name.name()), _tags(name, left_out))

    return proxy(
        f"{_METRICS}.MetricsReporter",
        init=lambda existing: None,
        metricChange=added,
        metricRemoval=removed,
        close=lambda: None,
        configure=lambda configs: None,
    )


def _value(metric: Any) -> float:
    """Return a metric's value. One that is no number raises, and is left out of reports."""
    return float(metric.metricValue())


def _tags(name: Any, left_out: Collection[str]) -> dict[str, str]:
    tags = {str(each.getKey()): str(each.getValue()) for each in name.tags().entrySet()}
    return {tag: value for tag, value in tags.items() if tag not in left_out}
