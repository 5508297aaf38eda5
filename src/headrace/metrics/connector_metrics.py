# SPDX-License-Identifier: Apache-2.0
"""``connector-metrics``: the state of each connector, and what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.metrics import plugin_metrics
from headrace.metrics.connect_metric import ConnectMetric, Reading
from headrace.metrics.figures import WorkerFigures

_GROUP: Final = "connector-metrics"
_OF: Final = ("connector",)
_STATUS: Final = ConnectMetric(_GROUP, "status", "1 for the state that a connector is in.", _OF, text=True)
_CLASS: Final = ConnectMetric(_GROUP, "connector-class", "The connector's class.", _OF, text=True)
_TYPE: Final = ConnectMetric(_GROUP, "connector-type", "source or sink.", _OF, text=True)
_VERSION: Final = ConnectMetric(_GROUP, "connector-version", "The version that the connector returns.", _OF, text=True)
_ABOUT: Final = ConnectMetric(
    _GROUP,
    "info",
    "What a connector is.",
    (*_OF, "connector-class", "connector-type", "connector-version"),
    is_info=True,
)
METRICS: Final[tuple[ConnectMetric, ...]] = (_STATUS, _CLASS, _TYPE, _VERSION, _ABOUT)


def readings(figures: WorkerFigures) -> Iterator[Reading]:
    """Return the group's values, and those that connectors have registered."""
    for name, connector in sorted(figures.connectors.items()):
        about = (connector.connector_class, connector.type, connector.version or "")
        yield Reading(_STATUS, (name, connector.run.state), 1)
        yield Reading(_ABOUT, (name, *about), 1)
        for metric, text in zip((_CLASS, _TYPE, _VERSION), about, strict=True):
            yield Reading(metric, (name, text), 1)
        for own, value in connector.values.items():
            reading = plugin_metrics.connector_reading(name, own, value)
            if reading is not None:
                yield reading
