# SPDX-License-Identifier: Apache-2.0
"""The converters, transformations and predicates that a connector's configuration names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from headrace.api.config_def import ConfigDef, ConfigValue, Recommender
from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConfigError
from headrace.api.validators import Validator
from headrace.model.cluster_config_state import Config
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins, WrongKindError


class Configurable(Protocol):
    """A plugin, as far as validation is concerned."""

    def config(self) -> ConfigDef: ...


Find = Callable[[str, str], type[Configurable]]
_FINDERS: Final[Mapping[PluginKind, Callable[[Plugins], Find]]] = {
    PluginKind.CONVERTER: lambda plugins: plugins.converter,
    PluginKind.HEADER_CONVERTER: lambda plugins: plugins.header_converter,
    PluginKind.TRANSFORMATION: lambda plugins: plugins.transformation,
    PluginKind.PREDICATE: lambda plugins: plugins.predicate,
}


class NamedPlugins:
    """Looks up and calls each named plugin once, and keeps its error for the property that names it.

    Imports and runs plugins' code. Of one validation and one thread.
    """

    def __init__(self, plugins: Plugins, config: Config) -> None:
        self._plugins = plugins
        self._config = config
        self._versions: dict[str, str] = {}
        self._classes: dict[str, type] = {}
        self._names: dict[str, str] = {}
        self._unknown: dict[str, str] = {}
        self._broken: dict[str, str] = {}

    @property
    def versions(self) -> Mapping[str, str]:
        """The version of each plugin whose ``definition`` was requested, by the property that names it."""
        return self._versions

    def worker_class(self, kind: PluginKind, property: str, name: str) -> str:
        """Return the name of the worker's own plugin, the default for connectors that name none."""
        return self._plugins.class_name(kind, _FINDERS[kind](self._plugins)(name, property))

    def definition(self, kind: PluginKind, property: str) -> ConfigDef | None:
        """Return the properties of the plugin that ``property`` names; None if it names no usable one."""
        name = self._config.get(property)
        if name is None or not name.strip():
            return None
        try:
            cls = _FINDERS[kind](self._plugins)(name, property)
        except WrongKindError as error:
            self._classes[property], self._names[property] = object, error.class_name
            self._broken[property] = f"Class {error.class_name} {error.reason}"
            return None
        except ConfigError as error:
            self._unknown[name.strip()] = str(error).partition(f" for configuration {property}: ")[2] or str(error)
            return None
        self._classes[property] = cls
        self._names[property] = self._plugins.class_name(kind, cls)
        return self._ask(cls, kind, property)

    def _ask(self, cls: type[Configurable], kind: PluginKind, property: str) -> ConfigDef | None:
        try:
            plugin: Any = cls()
            self._versions[property] = str(plugin.version())
            definition = plugin.config()
        except BaseException as error:
            message = error_text(error) if isinstance(error, ConfigError) else error_line(error)
            self._broken[property] = f"this {kind.noun} is broken: {message}"
            return None
        if not isinstance(definition, ConfigDef):
            self._broken[property] = f"this {kind.noun} is broken: its config() returns no ConfigDef"
            return None
        return definition

    def validate(self, definition: ConfigDef, config: Config) -> list[ConfigValue]:
        """Validate by a definition whose ``Type.CLASS`` properties were looked up before; classes come out as names."""
        values = definition.validate({**config, **self._classes}, self._load)
        for value in values:
            if value.name in self._names:
                value.value = self._names[value.name]
        return values

    def usable(self) -> Validator:
        """Return a validator that refuses a class that was found but is broken."""
        return _Usable(self._broken, self._config)

    def known(self, kind: PluginKind) -> Recommender:
        """Return a recommender of all classes of a kind, by name."""
        return _Known(self._plugins, kind)

    def _load(self, name: str) -> type:
        if name in self._unknown:
            raise LookupError(self._unknown[name])
        return self._plugins.load_class(name)


class SingleValue(Recommender):
    """Recommends one value."""

    def __init__(self, value: str) -> None:
        self._value = value

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        return [self._value]


class _Usable(Validator):
    def __init__(self, broken: Mapping[str, str], config: Config) -> None:
        self._broken = broken
        self._config = config

    def ensure_valid(self, name: str, value: Any) -> None:
        if name in self._broken:
            raise ConfigError.invalid(name, self._config.get(name), self._broken[name])

    def __str__(self) -> str:
        return "a class that can be instantiated"


class _Known(Recommender):
    def __init__(self, plugins: Plugins, kind: PluginKind) -> None:
        self._plugins = plugins
        self._kind = kind

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        described: Iterable[Any] = self._plugins.describe()
        return [info.class_name for info in described if info.type == self._kind.type and info.error is None]
