# SPDX-License-Identifier: Apache-2.0
"""The metrics that a connector registers itself (KIP-877)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final

from headrace.api.plugin_metrics import PluginMetrics
from headrace.metrics.plugin_registry import OwnPluginMetrics, PluginRegistry

_PATIENCE: Final = 0.1
"""Seconds that a reader waits for a connector whose thread is busy."""
Submit = Callable[[Callable[[], Mapping[str, float]]], Future[Mapping[str, float]]]
"""Has a function called on the connector's thread."""


class ConnectorPluginMetrics:
    """The metrics of a connector's present instance, whose gauges are read on the connector's own thread.

    So a gauge that hangs holds up its connector alone: readers then get the values before.
    """

    def __init__(self, submit: Submit) -> None:
        self._submit = submit
        self._registry = PluginRegistry()
        self._values: Mapping[str, float] = {}
        self._reading: Future[Mapping[str, float]] | None = None

    def begin(self) -> None:
        """Begin with no metrics, for another instance; what a former one registers late is not seen."""
        self._registry, self._values = PluginRegistry(), {}

    def registry(self) -> PluginMetrics:
        """Return the registry of the present instance."""
        return OwnPluginMetrics(self._registry)

    def values(self) -> Mapping[str, float]:
        """Return the newest values by ``plugin_metric_name``. Any thread; blocks a tenth of a second at most."""
        registry = self._registry
        if registry.empty:
            return {}
        patience = 0.0
        if self._reading is None or self._reading.done():
            self._reading, patience = self._submit(registry.read), _PATIENCE
        try:
            values = self._reading.result(patience)
        except TimeoutError:
            return self._values
        if registry is not self._registry:
            return {}
        self._values = values
        return values
