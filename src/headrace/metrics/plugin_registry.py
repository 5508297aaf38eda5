# SPDX-License-Identifier: Apache-2.0
"""The metrics that plugins register themselves (KIP-877), until they are read."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias

from headrace.api.errors import ConnectError
from headrace.api.plugin_metrics import Counter, PluginMetrics
from headrace.metrics.plugin_metrics import OWN_TAGS, plugin_metric_name

log = logging.getLogger(__name__)
_Tags: TypeAlias = Mapping[str, str] | None


class PluginRegistry:
    """The metrics of all plugins of one task, or of one connector. Any thread registers and removes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registered: dict[tuple[str, frozenset[tuple[str, str]]], tuple[str, Callable[[], float]]] = {}
        self._failed: set[str] = set()

    @property
    def empty(self) -> bool:
        return not self._registered

    def register(self, name: str, description: str, value: Callable[[], float], tags: Mapping[str, str]) -> None:
        key = _key(name, tags)
        with self._lock:
            if key in self._registered:
                raise ConnectError(f"there is a metric {name} with the tags {dict(tags)} already")
            self._registered[key] = plugin_metric_name(name, description, tags), value

    def remove(self, name: str, tags: Mapping[str, str]) -> None:
        with self._lock:
            self._registered.pop(_key(name, tags), None)

    def read(self) -> dict[str, float]:
        """Return the values by ``plugin_metric_name``, by calling the plugins' code; those that fail are left out."""
        with self._lock:
            registered = list(self._registered.values())
        return {name: number for name, value in registered if (number := self._read(name, value)) is not None}

    def _read(self, name: str, value: Callable[[], float]) -> float | None:
        try:
            return float(value())
        except Exception:
            if name not in self._failed:
                self._failed.add(name)
                log.warning("a metric of a plugin has no value: %s", name, exc_info=True)
            return None


class OwnPluginMetrics(PluginMetrics):
    """The registry of one plugin, whose metrics have ``own`` tags."""

    def __init__(self, all_metrics: PluginRegistry, own: Mapping[str, str] | None = None) -> None:
        self._all = all_metrics
        self._own = own or {}

    def gauge(self, name: str, description: str, value: Callable[[], float], tags: _Tags = None) -> None:
        taken = sorted({*OWN_TAGS, *self._own}.intersection(tags or ()))
        if taken:
            raise ConnectError(f"metric {name} of a plugin may not have a tag {taken[0]}: it has one by itself")
        self._all.register(name, description, value, self._tags(tags))

    def counter(self, name: str, description: str, tags: _Tags = None) -> Counter:
        counter = Counter()
        self.gauge(name, description, counter.value, tags)
        return counter

    def remove(self, name: str, tags: _Tags = None) -> None:
        self._all.remove(name, self._tags(tags))

    def _tags(self, tags: _Tags) -> dict[str, str]:
        return {**self._own, **(tags or {})}


def _key(name: str, tags: Mapping[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(tags.items())
