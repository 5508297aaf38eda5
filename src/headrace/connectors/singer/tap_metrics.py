# SPDX-License-Identifier: Apache-2.0
"""The measurements that a tap logs, as metrics of its task."""

from __future__ import annotations

import logging
from typing import Final

from headrace.api.plugin_metrics import Counter, PluginMetrics
from headrace.connectors.singer.error_lines import Measurement

log = logging.getLogger(__name__)

_MOST: Final = 500
"""A tap may tag by values that never end, such as addresses with an id."""


class TapMetrics:
    """Adds up measurements over all runs of a task's tap. For one thread."""

    def __init__(self, metrics: PluginMetrics, most: int = _MOST) -> None:
        self._metrics, self._most = metrics, most
        self._counters: dict[tuple[str, ...], Counter] = {}
        self._full = False

    def add(self, measured: Measurement) -> None:
        """Add a measurement to its totals."""
        name, stream = f"tap-{measured.metric.replace('_', '-')}", {"stream": measured.stream}
        if measured.kind == "counter":
            self._add(f"{name}-total", f"{measured.metric} that the tap has counted", stream, measured.value)
            return
        tags = {**stream, "status": measured.status}
        self._add(
            f"{name}-seconds-total", f"Seconds that the tap has measured as {measured.metric}", tags, measured.value
        )
        self._add(f"{name}-measurements-total", f"Measurements of {measured.metric} by the tap", tags, 1)

    def _add(self, name: str, description: str, tags: dict[str, str], value: float) -> None:
        key = (name, *tags.values())
        counter = self._counters.get(key)
        if counter is None:
            if len(self._counters) >= self._most:
                self._log_full(name)
                return
            counter = self._counters[key] = self._metrics.counter(name, description, tags)
        counter.add(value)

    def _log_full(self, name: str) -> None:
        if not self._full:
            self._full = True
            log.warning("The tap has logged more than %d metrics; others are left out, first %s", self._most, name)
