# SPDX-License-Identifier: Apache-2.0
"""Lookup of plugin classes by users' names: aliases, entry points, Java class names, ``module:Class``."""

from __future__ import annotations

import difflib
import importlib
import logging
import re
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
from headrace.java.plugin import java_class_of
from headrace.model.info import PluginInfo
from headrace.plugins.builtin import BUILT_IN, JAVA_PREFIX, KnownPlugin, PluginKind
from headrace.plugins.installed import known_plugins
from headrace.plugins.java_plugins import java_plugin_hint
from headrace.plugins.java_targets import JavaTargets
from headrace.plugins.plugin_access import ALL_CONNECTORS, ConnectorLists, ModuleAccess
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
"""The similarity, up to 1, from which a name counts as a misspelling of another one."""
_UNKNOWN: Final = "unknown"
_LISTED: Final = (
    PluginKind.CONNECTOR,
    PluginKind.CONVERTER,
    PluginKind.HEADER_CONVERTER,
    PluginKind.TRANSFORMATION,
    PluginKind.PREDICATE,
)
"""The kinds that REST lists, as in Kafka Connect: those that a connector's configuration may name."""
_PYTHON_ALONE: Final = (PluginKind.CONFIG_PROVIDER, PluginKind.CLIENT_OVERRIDE_POLICY, PluginKind.REST_EXTENSION)
"""The kinds that only a worker's properties name, of which plugins in Java do not run."""
_OF_JAVA: Final = re.compile(rf"{JAVA_PREFIX}|(com|org|io|net|dev|java|javax|jakarta)\.")


class WrongKindError(ConfigError):
    """The class exists, and is no plugin of the wanted kind. ``reason`` is text such as `is not a converter`."""

    def __init__(self, name: str, property: str, class_name: str, reason: str) -> None:
        super().__init__(str(ConfigError.invalid(property, name, f"{class_name} {reason}")), property, name)
        self.class_name = class_name
        self.reason = reason


class Plugins:
    """The plugins of a process: there is one instance in the worker and in each task's process. Thread-safe.

    Plugins are found without importing them: a class is imported when it is first requested, which may block. Methods
    raise ConfigError, of one line, for a name that is unknown or ambiguous, for a module that may not or cannot be
    imported, and for a class of another kind.
    """

    def __init__(
        self,
        plugin_path: Sequence[str] = (),
        module_prefixes: Sequence[str] | None = None,
        lists: ConnectorLists = ALL_CONNECTORS,
    ) -> None:
        """Read the known plugins.

        ``module_prefixes`` are those of ``ModuleAccess``; None is no limit, for headrace's parts without a worker.
        """
        for directory in plugin_path:
            if not Path(directory).exists():
                log.warning("%s: there is no %s", PLUGIN_PATH, directory)
            elif directory not in sys.path and not directory.endswith(".jar"):
                sys.path.append(directory)
        self._directory = next(iter(plugin_path), None)
        self._lists = lists
        self._lock = threading.Lock()
        self._java = JavaTargets(plugin_path)
        known = known_plugins()
        self._known = (*known, *self._java.known())
        self._access = None if module_prefixes is None else ModuleAccess(module_prefixes, plugin_path, known)
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
        """Return the target of a task class' name, an importable ``module:Class`` or one of Java, without importing it.

        Since the name comes from the config topic, and could be any, raise ConfigError unless the connector returns
        that class, or is in the same module, or this worker imports from its module anyway and has no lists of
        connectors. A task in Java has to be in its connector's jars.
        """
        if java_class_of(connector) is not None:
            return self._java.task_target(name, connector)
        target = self._target(PluginKind.TASK, name, "task.class")
        if target != _task_target(connector):
            self._check_task(target, name, connector)
        return target

    def warn_of_plugins(self) -> None:
        """Log a warning for names in ``connectors.denylist`` that no connector has, and for versions out of use."""
        self._java.warn_of_other_versions()
        known = {name for kind, name in self._by_name if kind is PluginKind.CONNECTOR}
        for name in self._lists.unknown(known):
            log.warning("%s: no connector is known as %s", CONNECTORS_DENIED, name)

    def load_class(self, name: str) -> type:
        """Return any class that a connector's configuration names (``Type.CLASS``), from modules of plugins only.

        Raise LookupError, as ``ConfigDef`` expects, for a module that may not be imported and a class that is missing.
        """
        module = name.replace(":", ".").rpartition(".")[0]
        if self._access is not None and not self._access.allows(module):
            raise LookupError(f"this worker imports no classes from module {module}")
        return load_class(name)

    def function(self, name: str, property: str) -> Callable[..., Any]:
        """Return a function that a configuration names as ``module:function``, from modules of plugins only."""
        module, colon, path = name.strip().partition(":")
        if not colon or not path:
            raise ConfigError.invalid(property, name, "must be module:function")
        if self._access is not None and not self._access.allows(module):
            hint = f"{PLUGIN_PATH}, an entry point or {PLUGIN_MODULE_PREFIXES} can allow it"
            raise ConfigError.invalid(property, name, f"this worker imports nothing from module {module}; {hint}")
        try:
            found: Any = getattr(importlib.import_module(module), path)
        except BaseException as error:
            raise ConfigError.invalid(property, name, f"no such function: {_reason(error, module)}") from error
        if not callable(found):
            raise ConfigError.invalid(property, name, f"{name.strip()} is no function")
        function: Callable[..., Any] = found
        return function

    def class_name(self, kind: PluginKind, cls: type) -> str:
        """Return the name to store for a class: Java's where there is one, so that a Java cluster can read it."""
        target = target_of(cls)
        known = self._by_name.get((kind, target))
        return known[0].class_name if known else java_class_of(cls) or target.replace(":", ".")

    def describe(self) -> tuple[PluginInfo, ...]:
        """Return all plugins that are known by name. The first call imports those that are not built in.

        A plugin that cannot be imported or instantiated is listed with its error; a broken connector with the type
        unknown, which Kafka Connect's clients accept.
        """
        with self._lock:
            described = self._described
        if described is None:
            infos = [self._info(plugin) for plugin in self._known if plugin.kind in _LISTED and self._is_shown(plugin)]
            described = tuple(sorted(infos, key=lambda info: (info.type, info.class_name)))
            with self._lock:
                self._described = described
        return described

    def _is_shown(self, plugin: KnownPlugin) -> bool:
        if self._by_name[plugin.kind, plugin.class_name][0] is not plugin:  # a Java plugin that a built-in one replaces
            return False
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
        if kind is PluginKind.CONNECTOR:  # which may also be known by another module's name
            self._check_lists(target_of(cls), name, property)
        return cls

    def _check_lists(self, target: str, name: str, property: str) -> None:
        known = self._by_name.get((PluginKind.CONNECTOR, target)) or [KnownPlugin(PluginKind.CONNECTOR, target)]
        refusal = self._lists.refusal({each for plugin in known for each in plugin.names()})
        if refusal is not None:
            raise ConfigError.invalid(property, name, refusal)

    def _check_task(self, target: str, name: str, connector: type[Connector]) -> None:
        """Check a class that the connector does not return before it is started."""
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
        if name.startswith(JAVA_PREFIX) and kind not in _PYTHON_ALONE:
            return name
        module, colon, cls = name.partition(":")
        if not colon:
            module, _, cls = name.rpartition(".")
        if not module or not cls or name.startswith(JAVA_PREFIX):
            raise ConfigError.invalid(property, name, f"no such {kind.noun}{self._nearest(kind, name)}")
        self._check_access(kind, module, name, property)
        return f"{module}:{cls}"

    def _check_kind(self, kind: PluginKind, name: str, property: str) -> None:
        """Raise WrongKindError if a name, unknown as ``kind``, is a plugin of another kind that users can name."""
        for other in _LISTED if kind in _LISTED else ():
            for plugin in self._by_name.get((other, name), ()):
                raise WrongKindError(name, property, plugin.class_name, f"is a {other.noun}, not a {kind.noun}")

    def _check_access(self, kind: PluginKind, module: str, name: str, property: str) -> None:
        """Raise ConfigError unless the module may be imported. Not for tasks, which only connectors name."""
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
        if target.startswith(JAVA_PREFIX):
            return self._java.load(kind, target, property)
        module, _, path = target.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except BaseException as error:  # importing runs the plugin's own code
            near = "" if (kind, name.strip()) in self._by_name else self._nearest(kind, name)
            reason = f"no such {kind.noun}: {_reason(error, module)}{near}"
            raise ConfigError.invalid(property, name, reason) from error
        if kind is PluginKind.TRANSFORMATION and isinstance(found, FunctionType):
            found = DataFrameFunction.of(module, path)
        if not isinstance(found, type):
            raise ConfigError.invalid(property, name, f"{target} is not a class")
        with self._lock:
            return self._classes.setdefault(target, found)

    def _nearest(self, kind: PluginKind, name: str) -> str:
        """Return `; did you mean 'FileStreamSource'?`, or else the names that exist."""
        short = sorted({plugin.class_name.rpartition(".")[2] for plugin in self._known if plugin.kind is kind})
        return self._misspelled(kind, name) or (f"; known are {', '.join(short)}" if short else "")

    def _misspelled(self, kind: PluginKind, name: str) -> str:
        if (hint := java_plugin_hint(kind, name, self._directory)) is not None:
            return f"; {hint}"
        names = {each.lower(): each for known_kind, each in self._by_name if known_kind is kind and ":" not in each}
        simple = name.replace(":", ".").rpartition(".")[2].lower()
        for text in (name.lower(), simple):
            near = difflib.get_close_matches(text, names, 1, _NEAR)
            if near:
                return f"; did you mean '{names[near[0]]}'?"
        if kind in _PYTHON_ALONE and _OF_JAVA.match(name):
            return f"; a {kind.noun} has to be a class in Python: those in Java are not supported"
        return ""


def plugins_of(worker_properties: Mapping[str, str]) -> Plugins:
    """Create the plugins that a worker's properties describe, for the worker and its tasks' processes."""
    return Plugins(
        comma_separated(worker_properties.get(PLUGIN_PATH)),
        comma_separated(worker_properties.get(PLUGIN_MODULE_PREFIXES)),
        ConnectorLists(
            comma_separated(worker_properties.get(CONNECTORS_ALLOWED)),
            comma_separated(worker_properties.get(CONNECTORS_DENIED)),
        ),
    )


def target_of(cls: type) -> str:
    """Return the name ``module:Class`` of a class; ``java:<class name>`` of one that stands for Java's."""
    java = java_class_of(cls)
    return f"{JAVA_PREFIX}{java}" if java else f"{cls.__module__}:{cls.__qualname__}"


def _task_target(connector: type[Connector]) -> str | None:
    """Return the target of a connector's task class; None if it is only known after `start`."""
    try:
        return target_of(connector().task_class())
    except Exception:
        return None


def _connectors_beside(connector: type[Connector]) -> list[type[Connector]]:
    found = vars(sys.modules[connector.__module__]).values()
    return [each for each in found if isinstance(each, type) and issubclass(each, Connector)]


def connector_type(cls: type) -> str | None:
    """Return source or sink; None for a class that is no connector."""
    if issubclass(cls, SourceConnector):
        return "source"
    return "sink" if issubclass(cls, SinkConnector) else None


def _index(known: Sequence[KnownPlugin]) -> dict[tuple[PluginKind, str], list[KnownPlugin]]:
    """Map every name to the plugins that have it. The names of a built-in plugin are reserved."""
    index: dict[tuple[PluginKind, str], list[KnownPlugin]] = {}
    for plugin in known:
        for name in set(plugin.names()):
            claims = index.setdefault((plugin.kind, name), [])
            if not claims or claims[0] not in BUILT_IN:
                claims.append(plugin)
    return index


def comma_separated(value: str | None) -> tuple[str, ...]:
    """Return the entries of a list in a worker's properties."""
    return tuple(entry.strip() for entry in (value or "").split(",") if entry.strip())


def _shown(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join(error_text(error).split())
    return text if isinstance(error, ConfigError) and text else " ".join(error_line(error).split())


def _reason(error: BaseException, module: str) -> str:
    text = next(iter(error_text(error).splitlines()), "") or type(error).__name__
    return text if isinstance(error, AttributeError) else f"importing {module} failed: {text}"
