# SPDX-License-Identifier: Apache-2.0
"""The requests of a Java connector's host to the worker: the methods of the connector's context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.api.connector import ConnectorContext
from headrace.api.source import SourceConnectorContext
from headrace.java.calls import Fault


class ConnectorRequests:
    """Serves a host, by the names of these methods. Any thread."""

    def __init__(self, context: ConnectorContext, metric_value: Callable[[int], float]) -> None:
        """``metric_value`` asks the host for the value of a metric, by its number."""
        self._context = context
        self._metric_value = metric_value

    def request_task_reconfiguration(self) -> None:
        self._context.request_task_reconfiguration()

    def raise_error(self, fault: Fault) -> None:
        self._context.raise_error(fault.error())

    def add_metric(self, number: int, name: str, description: str, tags: Mapping[str, str]) -> None:
        self._context.plugin_metrics().gauge(name, description, lambda: self._metric_value(number), tags)

    def remove_metric(self, name: str, tags: Mapping[str, str]) -> None:
        self._context.plugin_metrics().remove(name, tags)


class SourceConnectorRequests(ConnectorRequests):
    """Serves the host of a source connector."""

    def __init__(self, context: SourceConnectorContext, metric_value: Callable[[int], float]) -> None:
        super().__init__(context, metric_value)
        self._reader = context.offset_storage_reader

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the committed offsets of source partitions; may block."""
        return self._reader.offsets(partitions)
