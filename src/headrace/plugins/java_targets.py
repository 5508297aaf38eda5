# SPDX-License-Identifier: Apache-2.0
"""Java plugins in ``plugin.path``, as plugins that are known by name. Their targets are ``java:<class name>``.

A task's target is ``java:<class name>@<class name of its connector>``: it is loaded from the connector's jars.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from headrace.api.connector import Connector
from headrace.api.errors import ConfigError
from headrace.java.classes import python_class
from headrace.java.plugin import JavaKind, JavaPlugin, java_class_of
from headrace.java.scan import scan
from headrace.java.versions import version_key
from headrace.plugins.builtin import JAVA_PREFIX, KnownPlugin, PluginKind
from headrace.plugins.java_plugins import java_plugin_hint

log = logging.getLogger(__name__)

_CONNECTORS: Final = (JavaKind.SOURCE, JavaKind.SINK)
_TASKS: Final = (JavaKind.SOURCE_TASK, JavaKind.SINK_TASK)
_KINDS: Final[Mapping[JavaKind, PluginKind]] = {
    **dict.fromkeys(_CONNECTORS, PluginKind.CONNECTOR),
    JavaKind.CONVERTER: PluginKind.CONVERTER,
    JavaKind.HEADER_CONVERTER: PluginKind.HEADER_CONVERTER,
    JavaKind.TRANSFORMATION: PluginKind.TRANSFORMATION,
    JavaKind.PREDICATE: PluginKind.PREDICATE,
}


class JavaTargets:
    """The Java plugins of a process, of each class its newest version. Immutable; any thread may use it."""

    def __init__(self, plugin_path: Sequence[str]) -> None:
        """Look for plugins in jars, which takes a while for jars that this machine has not seen before."""
        self._directory = next(iter(plugin_path), None)
        found = scan(map(Path, plugin_path))
        self._versions = [plugin for plugin in found if plugin.kind not in _TASKS]
        self._plugins = _newest(self._versions)
        self._tasks = {(each.location, each.class_name): each for each in found if each.kind in _TASKS}

    def known(self) -> Iterator[KnownPlugin]:
        """Iterate over the plugins that connectors' configurations can name."""
        for plugin in self._plugins.values():
            name = plugin.class_name
            yield KnownPlugin(
                _KINDS[plugin.kind], JAVA_PREFIX + name, name, plugin.kind.value, java_version=plugin.version
            )

    def warn_of_other_versions(self) -> None:
        """Log a warning for each version of a plugin that is not used, as there is a newer one."""
        for plugin in self._versions:
            used = self._plugins[_KINDS[plugin.kind], plugin.class_name]
            if plugin.version != used.version:
                message = "%s is there twice: version %s in %s is used, and version %s in %s is not"
                log.warning(message, plugin.class_name, used.version, used.location, plugin.version, plugin.location)

    def load(self, kind: PluginKind, target: str, property: str) -> type:
        """Return the Python class of a target. Raise ConfigError if no jar has it."""
        name, _, connector = target.removeprefix(JAVA_PREFIX).partition("@")
        plugin = self._task(name, connector) if kind is PluginKind.TASK else self._plugins.get((kind, name))
        if plugin is None:
            of = f" with {connector}" if connector else ""
            hint = java_plugin_hint(kind, target, self._directory)
            reason = f"no jar in plugin.path has such a Java {kind.noun}{of}" + (f"; {hint}" if hint else "")
            raise ConfigError.invalid(property, name, reason)
        return python_class(plugin)

    def task_target(self, name: str, connector: type[Connector]) -> str:
        """Return the target of a Java connector's task by its class name, with or without the prefix.

        Raise ConfigError unless it is in the connector's jars: the name comes from the config topic.
        """
        name, of = name.strip().removeprefix(JAVA_PREFIX), java_class_of(connector) or ""
        if self._task(name, of) is None:
            raise ConfigError.invalid("task.class", name, f"the jars of connector {of} have no such task")
        return f"{JAVA_PREFIX}{name}@{of}"

    def _task(self, name: str, connector: str) -> JavaPlugin | None:
        plugin = self._plugins.get((PluginKind.CONNECTOR, connector))
        return self._tasks.get((plugin.location, name)) if plugin else None


def _newest(found: Iterable[JavaPlugin]) -> dict[tuple[PluginKind, str], JavaPlugin]:
    newest: dict[tuple[PluginKind, str], JavaPlugin] = {}
    for plugin in found:
        key = _KINDS[plugin.kind], plugin.class_name
        other = newest.setdefault(key, plugin)
        if version_key(plugin.version) > version_key(other.version):
            newest[key] = plugin
    return newest
