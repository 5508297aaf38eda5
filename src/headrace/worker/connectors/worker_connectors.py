# SPDX-License-Identifier: Apache-2.0
"""The connectors of one worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from headrace.api.connector import Connector, ConnectorContext
from headrace.api.datasets import Dataset
from headrace.api.errors import ConnectError
from headrace.api.plugin_metrics import PluginMetrics
from headrace.api.sink import SinkConnectorContext
from headrace.api.source import OffsetStorageReader, SourceConnector, SourceConnectorContext
from headrace.config.connector_config import ConnectorConfig
from headrace.model.cluster_config_state import Config
from headrace.model.futures import done_future, failed_future
from headrace.model.state import TargetState
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.worker.callbacks import ConnectorCallbacks, StatusListener
from headrace.worker.connectors.worker_connector import ConnectorPhase, WorkerConnector
from headrace.worker.runnable_configs import After, RunnableConfigs
from headrace.worker.stages import Stages

ReaderOf = Callable[[Config], OffsetStorageReader]
"""A reader of the committed offsets of the connector with that configuration; may block."""


class WorkerConnectors:
    """A registry that starts, finds and stops connectors. Thread-safe; nothing here blocks."""

    def __init__(
        self,
        configs: RunnableConfigs,
        plugins: Plugins,
        reader_of: ReaderOf,
        status: StatusListener,
        stages: Stages,
        after: After,
    ) -> None:
        self._configs = configs
        self._plugins = plugins
        self._reader_of = reader_of
        self._status = status
        self._stages = stages
        self._after = after
        self._lock = threading.Lock()
        self._connectors: dict[str, WorkerConnector] = {}

    def names(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._connectors)

    def is_running(self, name: str) -> bool:
        connector = self._find(name)
        return connector is not None and connector.phase is ConnectorPhase.RUNNING

    def version(self, name: str) -> str | None:
        connector = self._find(name)
        return connector.version if connector else None

    def connector_class(self, name: str) -> type[Connector] | None:
        """Return None if it is not here, or has never been instantiated."""
        connector = self._find(name)
        return connector.connector_class if connector else None

    def metrics(self, name: str) -> Mapping[str, float]:
        """Return the values of the metrics that the connector has registered. Blocks a tenth of a second at most."""
        connector = self._find(name)
        return connector.metrics.values() if connector else {}

    def starts(self, name: str) -> int:
        connector = self._find(name)
        return connector.starts if connector else 0

    def datasets(self, name: str, topics: Collection[str]) -> Future[tuple[Dataset, ...]]:
        connector = self._find(name)
        return connector.datasets(topics) if connector else done_future(())

    def start(self, name: str, config: Config, target: TargetState, callbacks: ConnectorCallbacks) -> Future[None]:
        factory = _PluginFactory(name, config, self._configs, self._plugins, self._reader_of, callbacks)
        with self._lock:
            if name in self._connectors:
                return failed_future(ConnectError(f"Connector {name} is already on this worker"))
            connector = WorkerConnector(name, factory, self._status, self._stages, self._after)
            self._connectors[name] = connector
        return connector.set_target_state(target)

    def stop(self, name: str, timeout: float) -> Future[None]:
        """Stop a connector; the future ends at once if there is no such connector."""
        with self._lock:
            connector = self._connectors.pop(name, None)
        if connector is None:
            return done_future(None)
        return connector.close(timeout)

    def set_target_state(self, name: str, target: TargetState) -> Future[None]:
        connector = self._find(name)
        return connector.set_target_state(target) if connector else failed_future(_unknown(name))

    def task_configs(self, name: str) -> Future[list[dict[str, str]]]:
        connector = self._find(name)
        return connector.task_configs() if connector else failed_future(_unknown(name))

    def _find(self, name: str) -> WorkerConnector | None:
        with self._lock:
            return self._connectors.get(name)


class _PluginFactory:
    """A ``ConnectorFactory`` over the plugins."""

    def __init__(
        self,
        name: str,
        config: Config,
        configs: RunnableConfigs,
        plugins: Plugins,
        reader_of: ReaderOf,
        callbacks: ConnectorCallbacks,
    ) -> None:
        self._name = name
        self._config = config
        self._configs = configs
        self._plugins = plugins
        self._reader_of = reader_of
        self._callbacks = callbacks

    def resolve(self) -> ResolvedConfig:
        return self._configs.resolve_connector(self._config)

    def create_instance(self, config: ConnectorConfig) -> Connector:
        return self._plugins.connector(config.connector_class)()

    def context(
        self,
        config: ConnectorConfig,
        connector: Connector,
        fail: Callable[[BaseException], None],
        metrics: PluginMetrics,
    ) -> ConnectorContext:
        services = ContextServices(self.request_task_reconfiguration, fail, metrics)
        if isinstance(connector, SourceConnector):
            return WorkerSourceConnectorContext(services, self._reader_of(config.raw))
        return WorkerSinkConnectorContext(services)

    def request_task_reconfiguration(self) -> None:
        self._callbacks.request_task_reconfiguration(self._name)

    def task_class_name(self, connector: Connector) -> str:
        return self._plugins.class_name(PluginKind.TASK, connector.task_class())


def _unknown(name: str) -> ConnectError:
    return ConnectError(f"Connector {name} is not on this worker")


@dataclass(frozen=True, slots=True)
class ContextServices:
    """The services of the contexts of all connectors."""

    reconfigure: Callable[[], None]
    fail: Callable[[BaseException], None]
    metrics: PluginMetrics


class _WorkerConnectorContext(ConnectorContext):
    def __init__(self, services: ContextServices) -> None:
        self._services = services

    def request_task_reconfiguration(self) -> None:
        self._services.reconfigure()

    def raise_error(self, error: BaseException) -> None:
        self._services.fail(error)

    def plugin_metrics(self) -> PluginMetrics:
        return self._services.metrics


class WorkerSinkConnectorContext(_WorkerConnectorContext, SinkConnectorContext):
    """The context of a sink connector."""


class WorkerSourceConnectorContext(_WorkerConnectorContext, SourceConnectorContext):
    """The context of a source connector."""

    def __init__(self, services: ContextServices, reader: OffsetStorageReader) -> None:
        super().__init__(services)
        self._reader = reader

    @property
    def offset_storage_reader(self) -> OffsetStorageReader:
        return self._reader
