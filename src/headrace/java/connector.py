# SPDX-License-Identifier: Apache-2.0
"""Connectors in Java as the worker sees them: their methods run in processes of their own, each with a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from headrace.api.config_def import ConfigDef, ConfigValue, Importance, Type
from headrace.api.connector import Connector, Task
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.sink import SinkConnector, TopicPartition
from headrace.api.source import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from headrace.api.validators import Range
from headrace.java.classes import python_class
from headrace.java.connector_requests import ConnectorRequests, SourceConnectorRequests
from headrace.java.host import TIMEOUT, Host
from headrace.java.plugin import JavaKind, JavaPlugin
from headrace.java.shared_hosts import SHARED, SharedHosts

_STOP_TIMEOUT_S: Final = 10.0
"""Seconds for a connector's stop: somewhat more than a worker waits for it."""
_METRIC_TIMEOUT_S: Final = 2.0
_RUNTIMES_OWN: Final = ConfigDef().define(
    TIMEOUT, Type.LONG, 60_000, importance=Importance.LOW, validator=Range.at_least(1), group="Java",
    display_name="Timeout of the connector's methods",
    doc="The time in ms that a method of a connector in Java may take. If it takes longer, the connector's process is "
        "killed, and the connector is FAILED.",
)  # fmt: skip


class JavaConnector(Connector):
    """A connector in Java. Each instance that is started has a process, until it is stopped.

    Methods raise Java's exceptions as errors of ``headrace.api.errors``, and HostEndedError if the process has died, or
    had to be killed since the method did not return. The connector then fails, and is of no use any more.
    """

    plugin: ClassVar[JavaPlugin]
    hosts: ClassVar[SharedHosts] = SHARED
    kind: ClassVar[str]

    def __init__(self) -> None:
        self._host: Host | None = None
        self._started = False
        self._name = ""
        self._timeout = _timeout({})

    def version(self) -> str:
        return str(self._once("version", "version"))

    def config(self) -> ConfigDef:
        return ConfigDef(self._once("config", "config"), _RUNTIMES_OWN)

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        values: list[ConfigValue] = self._unstarted("validate", "validate", configs)
        return values + _RUNTIMES_OWN.validate(configs)

    def start(self, props: Mapping[str, str]) -> None:
        class_name = self.plugin.class_name
        self._name, self._timeout = props.get("name", class_name), _timeout(props)
        about = f"connector {self._name} ({class_name})"
        self._host = Host(
            about, self.plugin.jars, self._requests(), on_death=lambda error: self.context.raise_error(error)
        )
        self._call("start", "start", class_name, self._name, dict(props))
        self._started = True

    def reconfigure(self, props: Mapping[str, str]) -> None:
        self._timeout = _timeout(props)
        self._call("reconfigure", "reconfigure", dict(props))

    def task_class(self) -> type[Task]:
        kind = JavaKind(f"{self.kind}_task")
        task: type[Task] = python_class(replace(self.plugin, kind=kind, class_name=self.task_class_name()))
        return task

    def task_class_name(self) -> str:
        """Return the name of the tasks' class in Java."""
        if self._host is not None:
            return str(self._call("taskClass", "started_task_class"))
        return str(self._once("taskClass", "task_class"))

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        configs: Sequence[Mapping[str, str]] = self._call("taskConfigs", "task_configs", max_tasks)
        return configs

    def stop(self) -> None:
        host, self._host = self._host, None
        if host is None:
            return
        try:
            if self._started and host.alive:
                host.call("stop", timeout=min(self._timeout, _STOP_TIMEOUT_S), shown=self._shown("stop"))
        finally:
            host.end()

    def metric_value(self, number: int) -> float:
        """Return the value of a metric of the connector's own."""
        host = self._host
        if host is None:
            raise ConnectError(f"Connector {self._name} does not run")
        return float(host.ask("metric_value", number, timeout=_METRIC_TIMEOUT_S))

    def _requests(self) -> ConnectorRequests:
        return ConnectorRequests(self.context, self.metric_value)

    def _call(self, java_name: str, method: str, *arguments: object) -> Any:
        if self._host is None:
            raise ConnectError(f"Connector {self._name} does not run, and so cannot do {java_name}")
        return self._host.call(method, *arguments, timeout=self._timeout, shown=self._shown(java_name))

    def _once(self, java_name: str, method: str) -> Any:
        plugin, shown = self.plugin, self._shown(java_name)
        return self.hosts.call_once(plugin.jars, method, plugin.class_name, self._timeout, shown)

    def _unstarted(self, java_name: str, method: str, props: Mapping[str, str], *arguments: object) -> Any:
        plugin = self.plugin
        shown, timeout = self._shown(java_name, props.get("name")), _timeout(props)
        return self.hosts.call(
            plugin.jars, method, plugin.class_name, dict(props), *arguments, timeout=timeout, shown=shown
        )

    def _shown(self, java_name: str, name: str | None = None) -> str:
        name = name or self._name
        return f"{self.plugin.class_name}.{java_name}" + (f" of connector {name}" if name else "")


class JavaSourceConnector(JavaConnector, SourceConnector):
    """A source connector in Java."""

    kind = "source"

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        answer = self._unstarted("exactlyOnceSupport", "exactly_once_support", props)
        return None if answer is None else ExactlyOnceSupport[answer]

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        answer = self._unstarted("canDefineTransactionBoundaries", "can_define_transaction_boundaries", props)
        return ConnectorTransactionBoundaries.UNSUPPORTED if answer is None else ConnectorTransactionBoundaries[answer]

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        return bool(self._unstarted("alterOffsets", "alter_source_offsets", connector_config, list(offsets)))

    def _requests(self) -> ConnectorRequests:
        return SourceConnectorRequests(self.context, self.metric_value)


class JavaSinkConnector(JavaConnector, SinkConnector):
    """A sink connector in Java."""

    kind = "sink"

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return bool(self._unstarted("alterOffsets", "alter_sink_offsets", connector_config, dict(offsets)))


def defines_properties(definition: ConfigDef) -> bool:
    """Return False if a connector in Java defines no properties, as some do that read what they want."""
    return not definition.config_keys.keys() <= _RUNTIMES_OWN.config_keys.keys()


def source_connector_class(plugin: JavaPlugin) -> type[JavaSourceConnector]:
    """Return the class of a source connector in Java. Starts no JVM."""
    return type(_simple_name(plugin), (JavaSourceConnector,), {"plugin": plugin})


def sink_connector_class(plugin: JavaPlugin) -> type[JavaSinkConnector]:
    """Return the class of a sink connector in Java. Starts no JVM."""
    return type(_simple_name(plugin), (JavaSinkConnector,), {"plugin": plugin})


def _simple_name(plugin: JavaPlugin) -> str:
    """Return the name of the class without its package, as messages have it."""
    return plugin.class_name.rpartition(".")[2]


def _timeout(props: Mapping[str, str]) -> float:
    """Return the timeout in seconds; the default one if that of the configuration is not valid, as `validate` says."""
    try:
        milliseconds: int = _RUNTIMES_OWN.parse(props)[TIMEOUT]
    except ConfigError:
        milliseconds = _RUNTIMES_OWN.config_keys[TIMEOUT].default
    return milliseconds / 1000
