# SPDX-License-Identifier: Apache-2.0
"""A worker's metrics, and those of its process, in the formats that Prometheus reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from headrace.metrics import connector_metrics, rebalance_metrics, task_metrics, worker_metrics
from headrace.metrics.connect_metric import ConnectMetric, Reading
from headrace.metrics.figures import WorkerFigures
from headrace.metrics.jmx_naming import STRIMZI, Naming

METRICS: Final = (
    *worker_metrics.METRICS,
    *rebalance_metrics.METRICS,
    *connector_metrics.METRICS,
    *task_metrics.METRICS,
)
"""All metrics that there may be values of, but those of plugins and of the worker's process."""

_SUFFIXES: Final = {"counter": "_total", "info": "_info", "gauge": ""}
"""The endings of samples' names, by Prometheus' types, which the families' names do not have."""


class ConnectCollector:
    """A collector for prometheus_client's registries.

    ``figures`` is called on the collecting thread, and may block: 0.1 s for each connector that has metrics of its own
    and is busy.
    """

    def __init__(self, figures: Callable[[], WorkerFigures], namings: Sequence[Naming] = STRIMZI) -> None:
        self._figures = figures
        self._namings = namings

    def collect(self) -> Iterable[Metric]:
        figures = self._figures()
        readings: dict[ConnectMetric, list[Reading]] = {}
        for reading in _readings(figures):
            readings.setdefault(reading.metric, []).append(reading)
        families: dict[str, Metric] = {}
        for metric, own in readings.items():
            # A metric that both namings call the same is there once.
            for name, naming in {naming.name(metric): naming for naming in self._namings}.items():
                if name is not None:
                    _add(families, name, naming, metric, own)
        for name, family in families.items():
            if family.type == "counter" and family.name in families:
                # A plugin's "rows" beside its "rows-total": OpenMetrics has one family of a name.
                family.name, family.type = name, "gauge"
        return families.values()


class Exposition:
    """The worker's and its process' figures in the formats that Prometheus reads."""

    def __init__(self, figures: Callable[[], WorkerFigures], namings: Sequence[Naming] = STRIMZI) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(ConnectCollector(figures, namings))
        for process_collector in (ProcessCollector, PlatformCollector, GCCollector):
            process_collector(registry=self._registry)

    def render(self, accept: str) -> tuple[bytes, str]:
        """Return the text and its content type, in the format that fits the header ``Accept`` best."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


def _readings(figures: WorkerFigures) -> Iterator[Reading]:
    yield from worker_metrics.readings(figures)
    yield from connector_metrics.readings(figures)
    yield from task_metrics.readings(figures)
    if figures.group is not None:
        yield from rebalance_metrics.readings(figures.group)


def _add(
    families: dict[str, Metric], name: str, naming: Naming, metric: ConnectMetric, readings: list[Reading]
) -> None:
    """Add a metric's values to the family of its name."""
    family = families.get(name)
    if family is None:
        kind = "counter" if metric.is_counter else "info" if metric.is_info else "gauge"
        family = families[name] = Metric(name.removesuffix(_SUFFIXES[kind]), metric.doc, kind)
    labels = [naming.label(label) for label in metric.all_labels]
    for reading in readings:
        if family.type == "counter" and math.isnan(reading.value):
            continue  # a plugin's, which OpenMetrics does not allow
        family.add_sample(name, dict(zip(labels, reading.labels, strict=True)), reading.value)
