# SPDX-License-Identifier: Apache-2.0
"""The contexts of Java connectors in a host, which call the worker. Needs this process's JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from headrace.api.error_text import error_text
from headrace.api.errors import ConnectError, RetriableError
from headrace.java.calls import Fault, Request
from headrace.java.connector_metrics import ConnectorMetrics
from headrace.java.data import java_value, python_value
from headrace.java.errors import python_error
from headrace.java.jvm import java_class, jpype

_CONNECT: Final = "org.apache.kafka.connect"


def connector_context(connector: Any, metrics: ConnectorMetrics, request: Request) -> Any:
    """Return the context for a new connector. ``request`` calls the worker."""
    kind = "source" if isinstance(connector, java_class(f"{_CONNECT}.source.SourceConnector")) else "sink"
    interface = f"{_CONNECT}.{kind}.{kind.capitalize()}ConnectorContext"
    return jpype().JProxy(interface, inst=_ConnectorContext(metrics, request))


class _ConnectorContext:
    """Java: ``ConnectorContext``, and ``offsetStorageReader`` of ``SourceConnectorContext``."""

    def __init__(self, metrics: ConnectorMetrics, request: Request) -> None:
        self._metrics = metrics
        self._request = request

    def requestTaskReconfiguration(self) -> None:
        self._request("request_task_reconfiguration")

    def raiseError(self, error: Any) -> None:
        self._request("raise_error", Fault.of(python_error(error)))

    def pluginMetrics(self) -> Any:
        return self._metrics.registry()

    def offsetStorageReader(self) -> Any:
        return jpype().JProxy(f"{_CONNECT}.storage.OffsetStorageReader", inst=_OffsetStorageReader(self._request))


class _OffsetStorageReader:
    """Java: ``OffsetStorageReader``."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def offset(self, partition: Any) -> Any:
        (offset,) = self._read([partition])
        return offset

    def offsets(self, partitions: Any) -> Any:
        """Return a map with an entry for each partition, as Kafka Connect's; null for one without an offset."""
        asked = list(partitions)
        found = java_class("java.util.HashMap")()
        for partition, offset in zip(asked, self._read(asked), strict=True):
            found.put(partition, offset)
        return found

    def _read(self, partitions: list[Any]) -> list[Any]:
        with _errors_for_java():
            plain = [python_value(None, partition) for partition in partitions]
            return [java_value(None, offset) for offset in self._request("offsets", plain).result()]


@contextmanager
def _errors_for_java() -> Iterator[None]:
    """Raise Java's exceptions in place of headrace's errors."""
    try:
        yield
    except ConnectError as error:
        kind = "RetriableException" if isinstance(error, RetriableError) else "ConnectException"
        raise java_class(f"{_CONNECT}.errors.{kind}")(error_text(error)) from error
