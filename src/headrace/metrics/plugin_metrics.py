# SPDX-License-Identifier: Apache-2.0
"""The metrics that plugins register themselves (KIP-877): their registry, and the group ``plugins`` in the answer."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import urlencode

from headrace.api.errors import ConnectError
from headrace.api.plugin_metrics import Counter, PluginMetrics
from headrace.metrics.connect_metric import ConnectMetric, Reading, untagged
from headrace.model.ids import ConnectorTaskId

GROUP: Final = "plugins"
OWN_TAGS: Final = frozenset(("connector", "task"))
_DESCRIPTION: Final = "#"
"""The key of a description among the tags of a figure's name, which no tag can have as Prometheus' label."""
_UNUSABLE: Final = re.compile(r"^[_-]{2,}|^(?=[0-9])|[^a-zA-Z0-9_-]")
"""Parts that no label of Prometheus may have; two underscores begin its own, as ``__name__``."""
log = logging.getLogger(__name__)
_Tags: TypeAlias = Mapping[str, str] | None


def plugin_metric_name(name: str, description: str, tags: Mapping[str, str]) -> str:
    """Return the name of such a metric among the figures of a task or connector."""
    usable = {_UNUSABLE.sub("_", tag): text for tag, text in tags.items()}
    return f"{GROUP}/{_UNUSABLE.sub('_', name)}?{urlencode({**usable, _DESCRIPTION: description})}"


def reading(id: ConnectorTaskId, name: str, value: float) -> Reading | None:
    """Return the value of one of a task's figures; None if it is not of a plugin."""
    return _reading({"connector": id.connector, "task": str(id.task)}, name, value)


def connector_reading(connector: str, name: str, value: float) -> Reading | None:
    """Return the value of one of a connector's figures, which have no tag ``task``."""
    return _reading({"connector": connector}, name, value)


def _reading(own: Mapping[str, str], name: str, value: float) -> Reading | None:
    parts = untagged(name)
    if parts is None or parts[0] != GROUP:
        return None
    tags = {tag: text for tag, text in parts[2].items() if tag != _DESCRIPTION}
    metric = _metric(parts[1], parts[2].get(_DESCRIPTION, ""), (*own, *tags))
    return Reading(metric, (*own.values(), *tags.values()), value)


@lru_cache(maxsize=4096)
def _metric(name: str, description: str, labels: tuple[str, ...]) -> ConnectMetric:
    return ConnectMetric(GROUP, name, description, labels)


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
