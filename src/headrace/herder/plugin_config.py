# SPDX-License-Identifier: Apache-2.0
"""The properties of a plugin. Java: ``AbstractHerder.connectorPluginConfig``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from headrace.api.config_def import ConfigDef, Type
from headrace.api.error_text import error_line
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.sink import SinkConnector
from headrace.api.source import SourceConnector
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.herder.config_infos import ConfigKeyInfo
from headrace.herder.enriched_definition import CONVERTERS
from headrace.herder.errors import BadRequestError, NotFoundError
from headrace.plugins.discovery import Plugins

_PROPERTY: Final = "plugin"
_OTHERS: Final = "Valid types are sink, source, converter, header_converter, transformation, predicate."


def plugin_config(plugins: Plugins, name: str) -> tuple[ConfigKeyInfo, ...]:
    """Return the properties of a plugin, and after them those that the runtime has for its kind.

    Imports and runs the plugin's code, so never on the herder's thread. Raise NotFoundError if there is none of that
    name, BadRequestError if connectors cannot name it, ConnectError if it is broken.
    """
    cls = _find(plugins, name)
    try:
        definition: object = cls().config()
    except BaseException as error:
        raise ConnectError(f"Plugin {name} is broken: {error_line(error)}") from error
    if not isinstance(definition, ConfigDef):
        raise ConnectError(f"Plugin {name} is broken: its config() returns no ConfigDef")
    keys = {**definition.config_keys}
    for key in _runtime_definition(cls).config_keys.values():
        keys.setdefault(key.name, replace(key, type=Type.CLASS) if key.name in CONVERTERS else key)
    return tuple(ConfigKeyInfo.of(key) for key in keys.values())


def _find(plugins: Plugins, name: str) -> type:
    finders: tuple[Callable[[str, str], type], ...] = (
        plugins.connector,
        plugins.converter,
        plugins.header_converter,
        plugins.transformation,
        plugins.predicate,
    )
    problem: ConfigError | None = None
    for find in finders:
        try:
            return find(name, _PROPERTY)
        except ConfigError as error:
            problem = problem or error
    for other in (plugins.config_provider, plugins.override_policy):
        if _is_one(other, name):
            raise BadRequestError(f"Invalid plugin class {name}. {_OTHERS}")
    raise NotFoundError(f"Unknown plugin {name}.") from problem


def _is_one(find: Callable[[str, str], type], name: str) -> bool:
    try:
        find(name, _PROPERTY)
    except ConfigError:
        return False
    return True


def _runtime_definition(cls: type) -> ConfigDef:
    definitions: Mapping[type, ConfigDef] = {
        SourceConnector: SourceConnectorConfig.DEFINITION,
        SinkConnector: SinkConnectorConfig.DEFINITION,
    }
    return next((definition for kind, definition in definitions.items() if issubclass(cls, kind)), ConfigDef())
