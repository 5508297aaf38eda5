# SPDX-License-Identifier: Apache-2.0
"""Finds plugin classes by the names that users give: aliases, entry points, Java class names, ``module:Class``."""

from __future__ import annotations

import difflib
import functools
import importlib
import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Final, cast

from headrace import __version__
from headrace.api.connector import Connector, Task
from headrace.api.converter import Converter, HeaderConverter
from headrace.api.errors import ConfigError
from headrace.api.sink import SinkConnector
from headrace.api.source import SourceConnector
from headrace.api.transform import Predicate, Transformation
from headrace.model.info import PluginInfo
from headrace.plugins.builtin import BUILT_IN, KnownPlugin, PluginKind

log = logging.getLogger(__name__)

_BASES: Final[Mapping[PluginKind, type]] = {
    PluginKind.CONNECTOR: Connector,
    PluginKind.TASK: Task,
    PluginKind.CONVERTER: Converter,
    PluginKind.HEADER_CONVERTER: HeaderConverter,
    PluginKind.TRANSFORMATION: Transformation,
    PluginKind.PREDICATE: Predicate,
}
_NEAR: Final = 0.8
"""The likeness, of 1, from which a name counts as a misspelling of another one."""
_LISTED: Final = tuple(kind for kind in PluginKind if kind is not PluginKind.TASK)


class Plugins:
    """One per process, on the worker and in each task's process; may be used from any thread.

    A class is imported when it is first asked for, which may block on that import. ConfigError, of one line, for a name
    that means nothing, for a module that cannot be imported, and for a class of another kind.
    """

    def __init__(self, plugin_path: Sequence[str] = (), allowed_prefixes: Sequence[str] | None = None) -> None:
        """``allowed_prefixes`` limits the modules that users may name as ``module:Class``; None is no limit."""
        for directory in plugin_path:
            if directory not in sys.path:
                sys.path.append(directory)
        self._allowed = allowed_prefixes
        self._lock = threading.Lock()
        self._known = known_plugins()
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

    def task_target(self, name: str) -> str:
        """The importable ``module:Class`` of a task class' name, without importing it."""
        return self._target(PluginKind.TASK, name, "task.class")

    def class_name(self, kind: PluginKind, cls: type) -> str:
        """The name to store a class under: Java's where it stands for one, so that a Java cluster can read it."""
        target = f"{cls.__module__}:{cls.__qualname__}"
        known = self._by_name.get((kind, target))
        return known.class_name if known else target.replace(":", ".")

    def describe(self) -> tuple[PluginInfo, ...]:
        """All plugins that are known by name. The first call imports those that did not come with headrace."""
        with self._lock:
            described = self._described
        if described is None:
            infos = [self._info(plugin) for plugin in self._known if plugin.kind in _LISTED]
            described = tuple(sorted((info for info in infos if info), key=lambda info: (info.type, info.class_name)))
            with self._lock:
                self._described = described
        return described

    def _info(self, plugin: KnownPlugin) -> PluginInfo | None:
        if plugin.type is not None:
            return PluginInfo(plugin.class_name, plugin.type, __version__)
        try:
            cls = self._import(plugin.target, plugin.class_name, plugin.kind, plugin.kind.group)
            version = str(cls().version())
        except Exception as error:  # a broken plugin must not hide the others
            log.warning("Plugin %s is left out: %s", plugin.class_name, error)
            return None
        return PluginInfo(plugin.class_name, connector_type(cls) or plugin.kind.type, version)

    def _load(self, kind: PluginKind, name: str, property: str) -> type:
        target = self._target(kind, name, property)
        cls = self._import(target, name, kind, property)
        if not issubclass(cls, _BASES[kind]):
            raise ConfigError.invalid(property, name, f"{cls.__module__}.{cls.__qualname__} is not a {kind.noun}")
        return cls

    def _target(self, kind: PluginKind, name: str, property: str) -> str:
        known = self._by_name.get((kind, name.strip()))
        if known is not None:
            return known.target
        module, colon, cls = name.strip().partition(":")
        if not colon:
            module, _, cls = name.strip().rpartition(".")
        if not module or not cls:
            raise ConfigError.invalid(property, name, f"no such {kind.noun}{self._nearest(kind, name)}")
        if self._allowed is not None and not any(_within(module, prefix) for prefix in self._allowed):
            raise ConfigError.invalid(property, name, f"this worker imports no plugins from module {module}")
        return f"{module}:{cls}"

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
        except Exception as error:  # importing runs the plugin's own code
            reason = f"no such {kind.noun}: {_why(error, module)}{self._nearest(kind, name)}"
            raise ConfigError.invalid(property, name, reason) from error
        if not isinstance(found, type):
            raise ConfigError.invalid(property, name, f"{target} is not a class")
        with self._lock:
            return self._classes.setdefault(target, found)

    def _nearest(self, kind: PluginKind, name: str) -> str:
        """`; did you mean 'FileStreamSource'?`, or what there is."""
        names = {each.lower(): each for known_kind, each in self._by_name if known_kind is kind and ":" not in each}
        simple = name.replace(":", ".").rpartition(".")[2].lower()
        for text in (name.lower(), simple):
            near = difflib.get_close_matches(text, names, 1, _NEAR)
            if near:
                return f"; did you mean '{names[near[0]]}'?"
        short = sorted({plugin.class_name.rpartition(".")[2] for plugin in self._known if plugin.kind is kind})
        return f"; known are {', '.join(short)}" if short else ""


def connector_type(cls: type) -> str | None:
    """source or sink; None for what is no connector."""
    if issubclass(cls, SourceConnector):
        return "source"
    return "sink" if issubclass(cls, SinkConnector) else None


def known_plugins() -> tuple[KnownPlugin, ...]:
    """The built-ins, which need no installation to be found, and the entry points of all that is installed."""
    return _known_on(tuple(sys.path))


@functools.cache
def _known_on(path: tuple[str, ...]) -> tuple[KnownPlugin, ...]:
    """Looked up once per process and ``sys.path``: reading what is installed takes a tenth of a second."""
    found = {(plugin.kind, plugin.target): plugin for plugin in BUILT_IN}
    installed = entry_points()
    for kind in PluginKind:
        for point in installed.select(group=kind.group):
            target = point.value.split("[")[0].strip()
            found.setdefault((kind, target), KnownPlugin(kind, target, alias=point.name))
    return tuple(found.values())


def _index(known: Sequence[KnownPlugin]) -> dict[tuple[PluginKind, str], KnownPlugin]:
    """By every name. A short name that two plugins claim means neither of them, unless one is built in."""
    index: dict[tuple[PluginKind, str], KnownPlugin] = {}
    ambiguous = set()
    for plugin in known:
        for name in set(plugin.names()):
            other = index.setdefault((plugin.kind, name), plugin)
            if other is not plugin and other not in BUILT_IN:
                ambiguous.add((plugin.kind, name))
    for key in ambiguous:
        log.warning("Plugin name %s is ambiguous: use the full class name", key[1])
        del index[key]
    return index


def _within(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix.rstrip(".") + ".")


def _why(error: Exception, module: str) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text if isinstance(error, AttributeError) else f"importing {module} failed: {text}"
