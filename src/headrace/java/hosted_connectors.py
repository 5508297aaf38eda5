# SPDX-License-Identifier: Apache-2.0
"""The Java connectors in a host: what the worker calls, by the names of these methods. Needs this process's JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.errors import ConnectError
from headrace.api.sink import TopicPartition
from headrace.java.calls import Request
from headrace.java.config_def import python_config_def, python_config_values
from headrace.java.connector_contexts import connector_context
from headrace.java.connector_metrics import ConnectorMetrics
from headrace.java.data import java_map, java_value
from headrace.java.descriptions import Description, described
from headrace.java.errors import java_errors
from headrace.java.instances import class_loader_of, held_instance
from headrace.java.jvm import java_class, jpype

_Offsets = Sequence[tuple[dict[str, Any], dict[str, Any] | None]]
_UNSUPPORTED: Final = "java.lang.UnsupportedOperationException"


class HostedConnectors:
    """Calls Java. Thread-safe, but for the methods of the connector that is started, if one is.

    The methods with ``class_name`` work on an instance of their own, which is never started.
    """

    def __init__(self, jars: tuple[Path, ...], request: Request) -> None:
        """``request`` calls the worker."""
        self._jars = jars
        self._request = request
        self._connector: Any = None
        self._class_name = ""
        self._metrics = ConnectorMetrics("", request)

    def version(self, class_name: str) -> str:
        with self._unstarted(class_name, "version") as connector:
            return str(connector.version())

    def task_class(self, class_name: str) -> str:
        with self._unstarted(class_name, "taskClass") as connector:
            return _task_class(connector)

    def config(self, class_name: str) -> ConfigDef:
        with self._unstarted(class_name, "config") as connector:
            definition = connector.config()
            if definition is None:
                raise ConnectError(f"{class_name}.config returned null")
            return python_config_def(definition)

    def describe(self, class_name: str) -> Description:
        """Return the description of a plugin that is no connector."""
        return described(self._jars, class_name)

    def validate(self, class_name: str, configs: Mapping[str, str]) -> list[ConfigValue]:
        with self._unstarted(class_name, "validate") as connector:
            config = connector.validate(java_map(configs))
            if config is None:
                raise ConnectError(f"{class_name}.validate returned null")
            return python_config_values(config.configValues())

    def exactly_once_support(self, class_name: str, props: Mapping[str, str]) -> str | None:
        with self._unstarted(class_name, "exactlyOnceSupport") as connector:
            return _constant(connector.exactlyOnceSupport(java_map(props)))

    def can_define_transaction_boundaries(self, class_name: str, props: Mapping[str, str]) -> str | None:
        with self._unstarted(class_name, "canDefineTransactionBoundaries") as connector:
            return _constant(connector.canDefineTransactionBoundaries(java_map(props)))

    def alter_source_offsets(self, class_name: str, config: Mapping[str, str], offsets: _Offsets) -> bool:
        changed = java_class("java.util.HashMap")()
        for partition, offset in offsets:
            changed.put(java_map(partition), java_value(None, offset))
        return self._alter_offsets(class_name, config, changed)

    def alter_sink_offsets(
        self, class_name: str, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]
    ) -> bool:
        changed = java_class("java.util.HashMap")()
        partition_class = java_class("org.apache.kafka.common.TopicPartition")
        for (topic, partition), offset in offsets.items():
            changed.put(partition_class(topic, partition), java_value(None, offset))
        return self._alter_offsets(class_name, config, changed)

    def start(self, class_name: str, name: str, props: Mapping[str, str]) -> None:
        """Make the connector that the methods below are about, and start it."""
        self._class_name, self._metrics = class_name, ConnectorMetrics(name, self._request)
        with self._unstarted(class_name, "initialize") as connector:
            connector.initialize(connector_context(connector, self._metrics, self._request))
        self._connector = connector
        with self._started("start"):
            connector.start(java_map(props))

    def reconfigure(self, props: Mapping[str, str]) -> None:
        with self._started("reconfigure") as connector:
            connector.reconfigure(java_map(props))

    def started_task_class(self) -> str:
        with self._started("taskClass") as connector:
            return _task_class(connector)

    def task_configs(self, max_tasks: int) -> list[dict[str, str | None] | None] | None:
        with self._started("taskConfigs") as connector:
            configs = connector.taskConfigs(jpype().JInt(max_tasks))
            return None if configs is None else [None if each is None else _texts(each) for each in configs]

    def stop(self) -> None:
        with self._started("stop") as connector:
            connector.stop()

    def metric_value(self, number: int) -> float:
        with self._started("pluginMetrics"):
            return self._metrics.value(number)

    def _alter_offsets(self, class_name: str, config: Mapping[str, str], offsets: Any) -> bool:
        with self._unstarted(class_name, "alterOffsets") as connector:
            try:
                return bool(connector.alterOffsets(java_map(config), offsets))
            except jpype().JException as error:
                if not isinstance(error, java_class(_UNSUPPORTED)):
                    raise
                raise NotImplementedError(str(error.getMessage())) from error

    @contextmanager
    def _unstarted(self, class_name: str, method: str) -> Iterator[Any]:
        connector = held_instance(self._jars, class_name)
        with java_errors(f"{class_name}.{method}"), class_loader_of(connector):
            yield connector

    @contextmanager
    def _started(self, method: str) -> Iterator[Any]:
        with java_errors(f"{self._class_name}.{method}"), class_loader_of(self._connector):
            yield self._connector


def _task_class(connector: Any) -> str:
    task_class = connector.taskClass()
    if task_class is None:
        raise ConnectError("taskClass returned null")
    return str(task_class.getName())


def _constant(value: Any) -> str | None:
    return None if value is None else str(value.name())


def _texts(config: Any) -> dict[str, str | None]:
    return {str(entry.getKey()): _text(entry.getValue()) for entry in config.entrySet()}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
