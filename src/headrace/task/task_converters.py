# SPDX-License-Identifier: Apache-2.0
"""The converters of one task, as connector and worker configure them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.api.converter import Converter, HeaderConverter
from headrace.config.connector_config import HEADER_CONVERTER, KEY_CONVERTER
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.task_metrics import Monitor, no_monitor


@dataclass(frozen=True, slots=True)
class TaskConverters:
    """Creates the converters that a connector's configuration names, and the worker's where it names none.

    A converter's own properties come from the configuration that names it, never from both.
    """

    connector: Mapping[str, str]
    worker: Mapping[str, str]
    plugins: Plugins
    monitor: Monitor = no_monitor

    def create_converter(self, name: str) -> tuple[Operation, Converter]:
        """Return the converter of ``key.converter`` or ``value.converter``, and what its failures are reported as."""
        plugin, properties = self._plugin(name, "JsonConverter"), self.properties(name)
        cls = self.plugins.converter(plugin, name)
        is_key = name == KEY_CONVERTER
        converter = cls()
        converter.configure(properties, is_key)
        self.monitor(converter, {"converter": "key" if is_key else "value"})
        stage = Stage.KEY_CONVERTER if is_key else Stage.VALUE_CONVERTER
        return Operation(stage, self.plugins.class_name(PluginKind.CONVERTER, cls)), converter

    def header_converter(self) -> tuple[Operation, Callable[[], HeaderConverter]]:
        """Return the function that creates the header converter, and what its failures are reported as."""
        plugin = self._plugin(HEADER_CONVERTER, "SimpleHeaderConverter")
        properties = self.properties(HEADER_CONVERTER)
        cls = self.plugins.header_converter(plugin, HEADER_CONVERTER)

        def create() -> HeaderConverter:
            converter = cls()
            converter.configure(properties)
            self.monitor(converter, {"converter": "header"})
            return converter

        return Operation(Stage.HEADER_CONVERTER, self.plugins.class_name(PluginKind.HEADER_CONVERTER, cls)), create

    def properties(self, name: str) -> dict[str, str]:
        """Return the properties of the converter ``name``, without that prefix."""
        prefix = f"{name}."
        return {k[len(prefix) :]: v for k, v in self._config(name).items() if k.startswith(prefix)}

    def _plugin(self, name: str, default: str) -> str:
        return self._config(name).get(name) or default

    def _config(self, name: str) -> Mapping[str, str]:
        return self.connector if name in self.connector else self.worker
