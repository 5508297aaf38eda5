# SPDX-License-Identifier: Apache-2.0
"""Metrics of Java plugins' own (KIP-877): kept by Kafka's registry in the JVM, shown by that of the task."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from headrace.api.plugin_metrics import PluginMetrics
from headrace.java.jvm import java_class
from headrace.java.task_calls import proxy

_METRICS: Final = "org.apache.kafka.common.metrics"
_GROUP: Final = "plugins"


def java_plugin_metrics(metrics: PluginMetrics) -> Any:
    """Return Java's ``PluginMetrics``. Each of its metrics is a gauge of ``metrics`` until it is removed."""
    registry = java_class(f"{_METRICS}.Metrics")()
    registry.addReporter(_reporter(metrics))
    return java_class(f"{_METRICS}.internals.PluginMetricsImpl")(registry, java_class("java.util.HashMap")())


def _reporter(metrics: PluginMetrics) -> Any:
    def added(metric: Any) -> None:
        name = metric.metricName()
        if str(name.group()) == _GROUP:  # the registry has a metric of its own
            metrics.gauge(str(name.name()), str(name.description()), partial(_value, metric), _tags(name))

    def removed(metric: Any) -> None:
        name = metric.metricName()
        metrics.remove(str(name.name()), _tags(name))

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


def _tags(name: Any) -> dict[str, str]:
    return {str(each.getKey()): str(each.getValue()) for each in name.tags().entrySet()}
