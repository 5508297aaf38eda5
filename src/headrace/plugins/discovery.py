# SPDX-License-Identifier: Apache-2.0
"""Finds plugin classes by the names that users give: aliases, entry points, Java class names, ``module:Class``."""

from __future__ import annotations

import difflib
import importlib
import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, Final, cast

from headrace.api.config_def import load_class
from headrace.api.config_provider import ConfigProvider
from headrace.api.connector import UNDEFINED_VERSION, Connector, Task
from headrace.api.converter import Converter, HeaderConverter
from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConfigError
from headrace.api.policy import ConnectorClientConfigOverridePolicy
from headrace.api.rest_extension import ConnectRestExtension
from headrace.api.sink import SinkConnector
from headrace.api.source import SourceConnector
from headrace.api.transform import Predicate, Transformation
from headrace.config.worker_config import CONNECTORS_ALLOWED, CONNECTORS_DENIED, PLUGIN_MODULE_PREFIXES, PLUGIN_PATH
from headrace.model.info import PluginInfo
from headrace.plugins.builtin import BUILT_IN, KnownPlugin, PluginKind
from headrace.plugins.connector_lists import ALL_CONNECTORS, ConnectorLists
from headrace.plugins.installed import known_plugins
from headrace.plugins.module_access import ModuleAccess
from headrace.transforms.data_frame_function import DataFrameFunction

log = logging.getLogger(__name__)

_BASES: Final[Mapping[PluginKind, type]] = {
    PluginKind.CONNECTOR: Connector,
    PluginKind.TASK: Task,
    PluginKind.CONVERTER: Converter,
    PluginKind.HEADER_CONVERTER: HeaderConverter,
    PluginKind.TRANSFORMATION: Transformation,
    PluginKind.PREDICATE: Predicate,
    PluginKind.CONFIG_PROVIDER: ConfigProvider,
    PluginKind.CLIENT_OVERRIDE_POLICY: ConnectorClientConfigOverridePolicy,
    PluginKind.REST_EXTENSION: ConnectRestExtension,
}
_NEAR: Final = 0.8
"""The likeness, of 1, from which a name counts as a misspelling of another one."""
_UNKNOWN: Final = "unknown"
_LISTED: Final = (
    PluginKind.CONNECTOR,
    PluginKind.CONVERTER,
    PluginKind.HEADER_CONVERTER,
    PluginKind.TRANSFORMATION,
    PluginKind.PREDICATE,
)
"""What REST lists, as Kafka Connect's does: the kinds that a connector's configuration may name."""


class WrongKindError(ConfigError):
    """There is such a class, and it is no plugin of the kind that is wanted. ``reason``: `is not a converter`."""

    def __init__(self, name: str, property: str, class_name: str, reason: str) -> None:
        super().__init__(str(ConfigError.invalid(property, name, f"{class_name} {reason}")), property, name)
        self.class_name = class_name
        self.reason = reason


class Plugins:
    """One per process, on the worker and in each task's process; may be used from any thread.

    Nothing is imported to find plugins: a class is imported when it is first asked for, which may block on that import.
    ConfigError, of one line, for a name that means nothing or several things, for a module that may not or cannot be
    imported, and for a class of another kind.
    """

    def __init__(
        self,
        plugin_path: Sequence[str] = (),
        module_prefixes: Sequence[str] | None = None,
        lists: ConnectorLists = ALL_CONNECTORS,
    ) -> None:
        """``module_prefixes``: see ``ModuleAccess``; None is no limit, for who runs headrace's parts by themselves."""
        for directory in plugin_path:
            if not Path(directory).exists():
                log.warning("%s: there is no %s", PLUGIN_PATH, directory)
            elif directory not in sys.path:
                sys.path.append(directory)
        self._lists = lists
        self._lock = threading.Lock()
        self._known = known_plugins()
        self._access = None if module_prefixes is None else ModuleAccess(module_prefixes, plugin_path, self._known)
        self._by_name = _index(self._known)
        self._classes: dict[str, type] = {}
        self._described: tuple[PluginInfo, ...] | None = None

    def connector(self, name: str, property: str = "connector.class") -> type[Connector]:
        return cast("type[Connector]", self._load(PluginKind.CONNECTOR, name, property))

    def task(self, name: str, property: str = "task.class") -> type[Task]:
        return cast("type[Task]", self._load(PluginKind.TASK, name, property))

    def converter(self, name: str, property: str = "value.converter") -> type[Converter]:
        return cast("type[Converter]", self._load(PluginKind.CONVERTER, name, property))

    def header_converter(self, name: str, property: str = "header.converter") -> type[HeaderConverter]:
        return cast("type[HeaderConverter]", self._load(PluginKind.HEADER_CONVERTER, name, property))

    def transformation(self, name: str, property: str = "transforms") -> type[Transformation[Any]]:
        return cast("type[Transformation[Any]]", self._load(PluginKind.TRANSFORMATION, name, property))

    def predicate(self, name: str, property: str = "predicates") -> type[Predicate[Any]]:
        return cast("type[Predicate[Any]]", self._load(PluginKind.PREDICATE, name, property))

    def config_provider(self, name: str, property: str) -> type[ConfigProvider]:
        return cast("type[ConfigProvider]", self._load(PluginKind.CONFIG_PROVIDER, name, property))

    def override_policy(self, name: str, property: str) -> type[ConnectorClientConfigOverridePolicy]:
        loaded = self._load(PluginKind.CLIENT_OVERRIDE_POLICY, name, property)
        return cast("type[ConnectorClientConfigOverridePolicy]", loaded)

    def rest_extension(self, name: str, property: str) -> type[ConnectRestExtension]:
        return cast("type[ConnectRestExtension]", self._load(PluginKind.REST_EXTENSION, name, property))

    def task_target(self, name: str, connector: type[Connector]) -> str:
        """The importable ``module:Class`` of a task class' name, without importing it.

        ConfigError unless the connector gives that class, or has it beside itself, or this worker imports from its
        module anyway and has no lists of connectors: the name is from the config topic, and could be any.
        """
        target = self._target(PluginKind.TASK, name, "task.class")
        if target != _task_target(connector):
            self._check_task(target, name, connector)
        return target

    def warn_of_unknown_connectors(self) -> None:
        """Of names in ``connectors.denylist`` that no connector has, so that they keep none away."""
        known = {name for kind, name in self._by_name if kind is PluginKind.CONNECTOR}
        for name in self._lists.unknown(known):
            log.warning("%s: no connector is known as %s", CONNECTORS_DENIED, name)

    def load_class(self, name: str) -> type:
        """Any class that a connector's configuration names (``Type.CLASS``), from where plugins may be imported.

        LookupError, as ``ConfigDef`` expects it, for a module that may not be imported and a class that is not there.
        """
        module = name.replace(":", ".").rpartition(".")[0]
        if self._access is not None and not self._access.allows(module):
            raise LookupError(f"this worker imports no classes from module {module}")
        return load_class(name)

    def function(self, name: str, property: str) -> Callable[..., Any]:
        """A function, ``module:function``, that a connector's configuration names, from where plugins may come."""
        module, colon, path = name.strip().partition(":")
        if not colon or not path:
            raise ConfigError.invalid(property, name, "must be module:function")
        if self._access is not None and not self._access.allows(module):
            hint = f"{PLUGIN_PATH}, an entry point or {PLUGIN_MODULE_PREFIXES} can allow it"
            raise ConfigError.invalid(property, name, f"this worker imports nothing from module {module}; {hint}")
        try:
            found: Any = getattr(importlib.import_module(module), path)
        except BaseException as error:
            raise ConfigError.invalid(property, name, f"no such function: {_why(error, module)}") from error
        if not callable(found):
            raise ConfigError.invalid(property, name, f"{name.strip()} is no function")
        function: Callable[..., Any] = found
        return function

    def class_name(self, kind: PluginKind, cls: type) -> str:
        """The name to store a class under: Java's where it stands for one, so that a Java cluster can read it."""
        target = target_of(cls)
        known = self._by_name.get((kind, target))
        return known[0].class_name if known else target.replace(":", ".")

    def describe(self) -> tuple[PluginInfo, ...]:
        """All plugins that are known by name. The first call imports those that did not come with headrace.

        One that cannot be imported or made is listed with its error: a broken connector as of type unknown, a type that
        Kafka Connect's clients know.
        """
        with self._lock:
            described = self._described
        if described is None:
            infos = [self._info(plugin) for plugin in self._known if plugin.kind in _LISTED and self._runs(plugin)]
            described = tuple(sorted(infos, key=lambda info: (info.type, info.class_name)))
            with self._lock:
                self._described = described
        return described

    def _runs(self, plugin: KnownPlugin) -> bool:
        return plugin.kind is not PluginKind.CONNECTOR or self._lists.refusal({*plugin.names()}) is None

    def _info(self, plugin: KnownPlugin) -> PluginInfo:
        if plugin.type is not None:
            return PluginInfo(plugin.class_name, plugin.type, plugin.version)
        type = _UNKNOWN if plugin.kind is PluginKind.CONNECTOR else plugin.kind.type
        try:
            cls = self._load(plugin.kind, plugin.target, plugin.kind.group)
            type = connector_type(cls) or type
            return PluginInfo(plugin.class_name, type, str(cls().version()))
        except BaseException as error:  # a broken plugin must not hide the others
            log.warning("Plugin %s is broken: %s", plugin.class_name, _shown(error))
            return PluginInfo(plugin.class_name, type, UNDEFINED_VERSION, _shown(error))

    def _load(self, kind: PluginKind, name: str, property: str) -> type:
        target = self._target(kind, name, property)
        if kind is PluginKind.CONNECTOR:
            self._check_lists(target, name, property)
        cls = self._import(target, name, kind, property)
        if not issubclass(cls, _BASES[kind]):
            raise WrongKindError(name, property, f"{cls.__module__}.{cls.__qualname__}", f"is not a {kind.noun}")
        if kind is PluginKind.CONNECTOR:  # which may be known under another module's name too
            self._check_lists(target_of(cls), name, property)
        return cls

    def _check_lists(self, target: str, name: str, property: str) -> None:
        known = self._by_name.get((PluginKind.CONNECTOR, target)) or [KnownPlugin(PluginKind.CONNECTOR, target)]
        refusal = self._lists.refusal({each for plugin in known for each in plugin.names()})
        if refusal is not None:
            raise ConfigError.invalid(property, name, refusal)

    def _check_task(self, target: str, name: str, connector: type[Connector]) -> None:
        """Of a class that the connector does not give as long as it is not started."""
        module = target.partition(":")[0]
        if module == connector.__module__:
            for other in _connectors_beside(connector):
                if _task_target(other) == target:
                    self._check_lists(target_of(other), name, "task.class")
        elif self._lists or not (self._access is None or self._access.allows(module)):
            hint = "" if self._lists else f"; {PLUGIN_PATH}, an entry point or {PLUGIN_MODULE_PREFIXES} can allow it"
            reason = f"it is no task of {connector.__module__}.{connector.__qualname__}{hint}"
            raise ConfigError.invalid("task.class", name, reason)

    def _target(self, kind: PluginKind, name: str, property: str) -> str:
        name = name.strip()
        known = self._by_name.get((kind, name), [])
        if len(known) > 1:
            claims = ", ".join(sorted(plugin.class_name for plugin in known))
            raise ConfigError.invalid(property, name, f"the name is ambiguous; use a full class name: {claims}")
        if known:
            return known[0].target
        self._check_kind(kind, name, property)
        module, colon, cls = name.partition(":")
        if not colon:
            module, _, cls = name.rpartition(".")
        if not module or not cls:
            raise ConfigError.invalid(property, name, f"no such {kind.noun}{self._nearest(kind, name)}")
        self._check_access(kind, module, name, property)
        return f"{module}:{cls}"

    def _check_kind(self, kind: PluginKind, name: str, property: str) -> None:
        """Of those kinds that a connector's configuration names. To be asked of a name that is none of ``kind``."""
        for other in _LISTED if kind in _LISTED else ():
            for plugin in self._by_name.get((other, name), ()):
                raise WrongKindError(name, property, plugin.class_name, f"is a {other.noun}, not a {kind.noun}")

    def _check_access(self, kind: PluginKind, module: str, name: str, property: str) -> None:
        """Of all classes but tasks', which connectors name and no user does."""
        if kind is PluginKind.TASK or self._access is None or self._access.allows(module):
            return
        hint = f"; {PLUGIN_PATH}, an entry point or {PLUGIN_MODULE_PREFIXES} can allow it"
        reason = f"no such {kind.noun}, and this worker imports none from module {module}"
        raise ConfigError.invalid(property, name, reason + (self._misspelled(kind, name) or hint))

    def _import(self, target: str, name: str, kind: PluginKind, property: str) -> type:
        with self._lock:
            cached = self._classes.get(target)
        if cached is not None:
            return cached
        module, _, path = target.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except BaseException as error:  # importing runs the plugin's own code
            near = "" if (kind, name.strip()) in self._by_name else self._nearest(kind, name)
            reason = f"no such {kind.noun}: {_why(error, module)}{near}"
            raise ConfigError.invalid(property, name, reason) from error
        if kind is PluginKind.TRANSFORMATION and isinstance(found, FunctionType):
            found = DataFrameFunction.of(module, path)
        if not isinstance(found, type):
            raise ConfigError.invalid(property, name, f"{target} is not a class")
        with self._lock:
            return self._classes.setdefault(target, found)

    def _nearest(self, kind: PluginKind, name: str) -> str:
        """`; did you mean 'FileStreamSource'?`, or what there is."""
        short = sorted({plugin.class_name.rpartition(".")[2] for plugin in self._known if plugin.kind is kind})
        return self._misspelled(kind, name) or (f"; known are {', '.join(short)}" if short else "")

    def _misspelled(self, kind: PluginKind, name: str) -> str:
        names = {each.lower(): each for known_kind, each in self._by_name if known_kind is kind and ":" not in each}
        simple = name.replace(":", ".").rpartition(".")[2].lower()
        for text in (name.lower(), simple):
            near = difflib.get_close_matches(text, names, 1, _NEAR)
            if near:
                return f"; did you mean '{names[near[0]]}'?"
        return ""


def plugins_of(worker_properties: Mapping[str, str]) -> Plugins:
    """As a worker's properties say, for the worker and its tasks' processes."""
    return Plugins(
        comma_separated(worker_properties.get(PLUGIN_PATH)),
        comma_separated(worker_properties.get(PLUGIN_MODULE_PREFIXES)),
        ConnectorLists(
            comma_separated(worker_properties.get(CONNECTORS_ALLOWED)),
            comma_separated(worker_properties.get(CONNECTORS_DENIED)),
        ),
    )


def target_of(cls: type) -> str:
    """``module:Class``."""
    return f"{cls.__module__}:{cls.__qualname__}"


def _task_target(connector: type[Connector]) -> str | None:
    """Of the class that a connector's tasks have; None if one that is not started cannot tell."""
    try:
        return target_of(connector().task_class())
    except Exception:
        return None


def _connectors_beside(connector: type[Connector]) -> list[type[Connector]]:
    found = vars(sys.modules[connector.__module__]).values()
    return [each for each in found if isinstance(each, type) and issubclass(each, Connector)]


def connector_type(cls: type) -> str | None:
    """source or sink; None for what is no connector."""
    if issubclass(cls, SourceConnector):
        return "source"
    return "sink" if issubclass(cls, SinkConnector) else None


def _index(known: Sequence[KnownPlugin]) -> dict[tuple[PluginKind, str], list[KnownPlugin]]:
    """By every name, with all that claim it. A built-in shares its names with nobody."""
    index: dict[tuple[PluginKind, str], list[KnownPlugin]] = {}
    for plugin in known:
        for name in set(plugin.names()):
            claims = index.setdefault((plugin.kind, name), [])
            if not claims or claims[0] not in BUILT_IN:
                claims.append(plugin)
    return index


def comma_separated(value: str | None) -> tuple[str, ...]:
    """The entries of a list as a worker's properties have it."""
    return tuple(entry.strip() for entry in (value or "").split(",") if entry.strip())


def _shown(error: BaseException) -> str:
    """In one line."""
    text = " ".join(error_text(error).split())
    return text if isinstance(error, ConfigError) and text else " ".join(error_line(error).split())


def _why(error: BaseException, module: str) -> str:
    text = next(iter(error_text(error).splitlines()), "") or type(error).__name__
    return text if isinstance(error, AttributeError) else f"importing {module} failed: {text}"
