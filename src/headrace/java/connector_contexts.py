# SPDX-License-Identifier: Apache-2.0
"""The contexts of Java connectors in a host, which call the worker. Needs this process's JVM."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from headrace.java.calls import Fault, Request
from headrace.java.connector_metrics import ConnectorMetrics
from headrace.java.errors import python_error
from headrace.java.instances import HeldInstance
from headrace.java.offset_reader import java_offset_reader
from headrace.java.plugin_metrics import java_plugin_metrics
from headrace.java.task_calls import proxy

_CONNECT: Final = "org.apache.kafka.connect"


def connector_context(connector: HeldInstance, metrics: ConnectorMetrics, request: Request) -> Any:
    """Return the context for a new connector. ``request`` calls the worker."""

    def request_task_reconfiguration() -> None:
        request("request_task_reconfiguration")

    def raise_error(error: Any) -> None:
        request("raise_error", Fault.of(python_error(error)))

    methods: dict[str, Callable[..., Any]] = {
        "requestTaskReconfiguration": request_task_reconfiguration,
        "raiseError": raise_error,
        "pluginMetrics": cache(lambda: java_plugin_metrics(metrics, metrics.tags)),
    }
    if not connector.is_a(f"{_CONNECT}.source.SourceConnector"):
        return proxy(f"{_CONNECT}.sink.SinkConnectorContext", **methods)
    reader = java_offset_reader(lambda partitions: request("offsets", partitions).result())
    return proxy(f"{_CONNECT}.source.SourceConnectorContext", **methods, offsetStorageReader=lambda: reader)
