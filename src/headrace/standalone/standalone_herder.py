# SPDX-License-Identifier: Apache-2.0
"""The herder of a worker that is alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from headrace.api.errors import ConnectError
from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.errors import AlreadyExistsError, BadRequestError, NotFoundError
from headrace.herder.herder import PutResult
from headrace.herder.herder_queries import HerderQueries, check_topic_reset, check_topic_tracking
from headrace.herder.restart_plan import restart_plan_from_status, with_restarting
from headrace.logs.loggers import Loggers
from headrace.metrics import WorkerFigures
from headrace.model.cluster_config_state import Config
from headrace.model.futures import done_future, failed_future
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStateInfo,
    PluginInfo,
    ServerInfo,
    SparkAttempt,
    TaskInfo,
    TaskState,
)
from headrace.model.offsets import OffsetsChange, OffsetsChanged
from headrace.model.state import TargetState
from headrace.standalone.kafka_cluster import KafkaCluster
from headrace.standalone.managed_connector import ConnectorServices, ManagedConnector
from headrace.storage.config_writes import ConnectorRemoval, ConnectorWrite, TargetStateWrite

_SLOW_S = 1.0
"""Seconds from which a wait is named in ``stage``."""


class OffsetsFile(Protocol):
    """The store of source offsets; ``stop`` may block, and ``trouble`` is the reason for which it cannot be written."""

    def stop(self) -> None: ...

    def trouble(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class QueryServices:
    """The services that answer requests and queries, beside the connectors themselves."""

    queries: HerderQueries
    validator: ConnectorValidator
    loggers: Loggers


class StandaloneHerder:
    """Implements ``headrace.herder.herder.Herder``; one instance per worker, started and stopped once. Thread-safe.

    Configurations live in memory: a request ends when they have changed there, and the connector is brought in line
    by its ``ManagedConnector`` thereafter. Java: ``StandaloneHerder``.
    """

    def __init__(
        self, services: ConnectorServices, query_services: QueryServices, cluster: KafkaCluster, offsets: OffsetsFile
    ) -> None:
        """Create the herder; ``offsets`` is started, and stopped by this herder."""
        self._services = services
        self._queries = query_services.queries
        self._validator = query_services.validator
        self._loggers = query_services.loggers
        self._cluster = cluster
        self._offsets = offsets
        self._lock = threading.RLock()  # a future that has ended calls back on the thread that holds it
        self._connectors: dict[str, ManagedConnector] = {}
        self._stopping = False
        self._failure: BaseException | None = None

    # ---- life

    def start(self) -> None:
        self._services.worker.start()
        self._cluster.start(self._fail)

    def stop(self, timeout: float) -> None:
        with self._lock:
            self._stopping = True
            connectors = list(self._connectors.values())
        self._cluster.stop()
        for connector in connectors:
            connector.close()
        # Tasks commit their last offsets on their way out.
        self._services.worker.stop(timeout)
        self._offsets.stop()

    def remark(self) -> str | None:
        """Return a defect of a worker that still works, for ``/health``."""
        trouble = self._offsets.trouble()
        return trouble and f"{trouble}; free space there, or what is sent meanwhile is sent again after the next start."

    def failure(self) -> BaseException | None:
        return self._failure

    def stage(self) -> str:
        slow = self._services.worker.blocked() + self._services.stages.longer_than(_SLOW_S)
        waiting = f"waiting for the {slow[0]}" if slow else "waiting for the herder"
        trouble = self._cluster.trouble()
        return f"waiting for Kafka to answer ({trouble})" if trouble else waiting

    def _fail(self, error: BaseException) -> None:
        self._failure = error

    # ---- requests of connectors and tasks (any thread)

    def request_task_reconfiguration(self, connector: str) -> None:
        with self._lock:
            managed = self._connectors.get(connector)
        if managed is not None:
            managed.reconfigure_tasks()

    def owns_task_generation(self, id: ConnectorTaskId) -> bool:
        return id in self._services.configs.snapshot().task_configs

    # ---- requests

    def put_connector_config(
        self,
        name: str,
        config: Mapping[str, str | None],
        *,
        target_state: TargetState | None,
        allow_replace: bool,
    ) -> Future[PutResult]:
        def put() -> PutResult:
            checked = self._validator.check(name, config)
            return self._put(name, checked, target_state, allow_replace)

        return self._services.stages.run_in_background(f"validation of the configuration of connector {name}", put)

    def connector_started(self, name: str) -> Future[None]:
        """Wait for the start of the connector and its tasks; the future raises the error that prevented it."""
        with self._lock:
            managed = self._connectors.get(name)
        return managed.started() if managed else failed_future(_not_found(name))

    def validate_connector_config(self, plugin: str, config: Mapping[str, str | None]) -> Future[ConfigInfos]:
        stage = f"validation of a configuration for {plugin}"
        return self._services.stages.run_in_background(stage, lambda: self._validator.validate(plugin, config))

    def connector_plugin_config(self, plugin: str) -> Future[tuple[ConfigKeyInfo, ...]]:
        return self._services.stages.run_in_background(
            f"config of plugin {plugin}", lambda: self._validator.plugin_config(plugin)
        )

    def patch_connector_config(self, name: str, patch: Mapping[str, str | None]) -> Future[PutResult]:
        def put() -> PutResult:
            while True:
                base = self._queries.connector_info(name).config
                patched = {key: text for key, text in {**base, **patch}.items() if key not in patch or text is not None}
                checked = self._validator.check(name, patched)
                with self._lock:
                    if self._services.configs.snapshot().connector_config(name) is base:
                        return self._put(name, checked, None, allow_replace=True)

        return self._services.stages.run_in_background(
            f"validation of the patched configuration of connector {name}", put
        )

    def delete_connector(self, name: str, *, with_offsets: bool = False) -> Future[None]:
        """Remove a connector; the future ends when it has stopped, and ``with_offsets`` its offsets are gone."""
        with self._lock:
            config = self._services.configs.snapshot().connector_config(name)

            def delete_offsets() -> None:
                if with_offsets and config is not None:
                    self._services.worker.change_offsets(name, config, OffsetsChange(None, removal=True)).result()

            return self._change(name, lambda: self._services.configs.write(ConnectorRemoval(name)), delete_offsets)

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        changed = self._change(name, lambda: self._services.configs.write(TargetStateWrite(name, state)))
        return changed if changed.done() and changed.exception() else done_future(None)

    def restart_connector(self, name: str, *, only_failed: bool, include_tasks: bool) -> Future[ConnectorStateInfo]:
        try:
            status = self._queries.connector_status(name)
            plan = restart_plan_from_status(status, only_failed=only_failed, include_tasks=include_tasks)
            self._existing(name).restart(plan.connector, plan.tasks)
        except NotFoundError as error:
            return failed_future(error)
        return done_future(with_restarting(status, plan))

    def restart_task(self, id: ConnectorTaskId) -> Future[None]:
        try:
            managed = self._existing(id.connector)
        except NotFoundError as error:
            return failed_future(error)
        if id not in self._services.configs.snapshot().task_configs:
            return failed_future(NotFoundError(f"Unknown task: {id}"))
        managed.restart(False, [id.task])
        return done_future(None)

    def reset_active_topics(self, name: str) -> None:
        check_topic_reset(self._services.worker.config)
        for status in self._services.statuses.topics(name):
            self._services.statuses.delete_topic(name, status.topic)
        self._services.worker.forget_topics(name)

    def connector_offsets(self, name: str) -> Future[tuple[ConnectorOffset, ...]]:
        config = self._services.configs.snapshot().connector_config(name)
        if config is None:
            return failed_future(_not_found(name))
        return self._services.worker.connector_offsets(name, config)

    def change_offsets(self, name: str, change: OffsetsChange) -> Future[OffsetsChanged]:
        def change_now() -> OffsetsChanged:
            state = self._services.configs.snapshot()
            config = state.connector_config(name)
            if config is None:
                raise _not_found(name)
            if state.target_state(name) is not TargetState.STOPPED:
                raise BadRequestError(
                    f"Connector {name} must be STOPPED before its offsets can be changed; "
                    f"PUT /connectors/{name}/stop stops it"
                )
            return self._services.worker.change_offsets(name, config, change).result()

        try:
            return self._existing(name).run_exclusively("change of the offsets", change_now)
        except NotFoundError as error:
            return failed_future(error)

    def _put(self, name: str, config: Config, target: TargetState | None, allow_replace: bool) -> PutResult:
        with self._lock:
            self._check_running()
            exists = self._services.configs.snapshot().contains(name)
            if exists and not allow_replace:
                raise AlreadyExistsError(f"Connector {name} already exists")
            self._services.configs.write(ConnectorWrite(name, config, target))
            self._reconcile(name, lambda: None)
        return PutResult(not exists, self._queries.describe_connector(name, config))

    def _existing(self, name: str) -> ManagedConnector:
        with self._lock:
            if not self._services.configs.snapshot().contains(name):
                raise _not_found(name)
            return self._connectors[name]

    def _change(
        self, name: str, change: Callable[[], None], at_last: Callable[[], None] = lambda: None
    ) -> Future[None]:
        with self._lock:
            if not self._services.configs.snapshot().contains(name):
                return failed_future(_not_found(name))
            if self._stopping:
                return failed_future(_stopping())
            change()
            return self._reconcile(name, at_last)

    def _reconcile(self, name: str, at_last: Callable[[], None]) -> Future[None]:
        """Reconcile under the lock, so that changes and what follows from them have one order."""
        managed = self._connectors.get(name)
        if managed is None:
            managed = self._connectors[name] = ManagedConnector(name, self._services, self)
        managed.reconcile()
        reconciled = managed.run_exclusively("end of a change", at_last)
        reconciled.add_done_callback(lambda _: self._forget_removed(name))
        return reconciled

    def _forget_removed(self, name: str) -> None:
        with self._lock:
            if not self._services.configs.snapshot().contains(name) and name in self._connectors:
                self._connectors.pop(name).close()

    def _check_running(self) -> None:
        if self._stopping:
            raise _stopping()

    def put_logger_level(self, logger: str, level: str) -> Future[None]:
        """Set the level here: this worker is its whole cluster."""
        self._loggers.set_level(logger, level)
        return done_future(None)

    # ---- queries

    def has_started(self) -> bool:
        return self._cluster.id() is not None

    def health_check(self) -> Future[None]:
        """Return an ended future: nothing that could block is between a request and its connector."""
        return done_future(None)

    def figures(self) -> WorkerFigures:
        return self._services.worker.figures()

    def server_info(self) -> ServerInfo:
        return self._queries.server_info()

    def connectors(self) -> tuple[str, ...]:
        return self._queries.connectors()

    def connector_info(self, name: str) -> ConnectorInfo:
        return self._queries.connector_info(name)

    def connector_status(self, name: str) -> ConnectorStateInfo:
        return self._queries.connector_status(name)

    def task_status(self, id: ConnectorTaskId) -> TaskState:
        return self._queries.task_status(id)

    def spark_attempts(self, name: str) -> Future[Mapping[int, SparkAttempt]]:
        return self._services.worker.spark_attempts(name)

    def active_topics(self, name: str) -> tuple[str, ...]:
        check_topic_tracking(self._services.worker.config)
        return self._queries.active_topics(name)

    def task_infos(self, name: str) -> tuple[TaskInfo, ...]:
        return self._queries.task_infos(name)

    def connector_plugins(self, connectors_only: bool = True) -> tuple[PluginInfo, ...]:
        return self._queries.connector_plugins(connectors_only)


def _not_found(name: str) -> NotFoundError:
    return NotFoundError(f"Connector {name} not found")


def _stopping() -> ConnectError:
    return ConnectError("The worker is stopping")
