# SPDX-License-Identifier: Apache-2.0
"""The metrics that a Java connector registers (KIP-877), in its host.

The worker is given each metric with a number, by which it asks for the value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Final

from headrace.api.plugin_metrics import Counter, PluginMetrics
from headrace.java.calls import Request

_CONNECTOR: Final = "connector"


class ConnectorMetrics(PluginMetrics):
    """The metrics of one connector, as the worker shows them. Thread-safe."""

    def __init__(self, connector: str, request: Request) -> None:
        """``request`` calls the worker."""
        self.tags: Mapping[str, str] = {_CONNECTOR: connector}
        """The tags that each of them has in Java."""
        self._request = request
        self._numbers = itertools.count()
        self._values: dict[int, Callable[[], float]] = {}
        self._by_name: dict[tuple[str, frozenset[tuple[str, str]]], int] = {}

    def gauge(
        self, name: str, description: str, value: Callable[[], float], tags: Mapping[str, str] | None = None
    ) -> None:
        """Pass a metric on to the worker."""
        number = next(self._numbers)
        self._values[number] = value
        self._by_name[name, frozenset((tags or {}).items())] = number
        self._request("add_metric", number, name, description, tags or {})

    def counter(self, name: str, description: str, tags: Mapping[str, str] | None = None) -> Counter:
        """Pass a counter on to the worker, and return it."""
        counter = Counter()
        self.gauge(name, description, counter.value, tags)
        return counter

    def remove(self, name: str, tags: Mapping[str, str] | None = None) -> None:
        """Have the worker forget a metric."""
        number = self._by_name.pop((name, frozenset((tags or {}).items())), None)
        if number is not None:
            del self._values[number]
            self._request("remove_metric", name, tags or {})

    def value(self, number: int) -> float:
        """Return the value of a metric now; its error if it is no number."""
        return self._values[number]()
