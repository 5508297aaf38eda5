# SPDX-License-Identifier: Apache-2.0
"""The plugins that are known without an import, built in or by entry point, and what they add to a Spark session."""

from __future__ import annotations

import functools
import importlib
import logging
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from typing import Any, Final

from headrace.plugins.builtin import BUILT_IN, KnownPlugin, PluginKind

log = logging.getLogger(__name__)

_KINDS: Final = {kind.group: kind for kind in PluginKind}
_OWN: Final = "headrace"
_GROUP_PREFIX: Final = "[headrace."
"""The text that is in the entry points of every package with plugins."""


def known_plugins() -> tuple[KnownPlugin, ...]:
    """Return the built-in plugins, and the entry points of all packages on ``sys.path``.

    Of two versions of a package, those of the first on the path.
    """
    found, seen = {(plugin.kind, plugin.target): plugin for plugin in BUILT_IN}, set[str]()
    for directory in sys.path:
        for package, plugins in _packages_in(directory):
            if package not in seen:
                seen.add(package)
                for plugin in plugins:
                    found.setdefault((plugin.kind, plugin.target), plugin)
    return tuple(found.values())


@functools.cache
def _packages_in(directory: str) -> tuple[tuple[str, tuple[KnownPlugin, ...]], ...]:
    """Return the packages with plugins of one place on ``sys.path``, which is read once per process.

    To read all places takes a tenth of a second on some machines, and Spark adds one to the path of each task.
    """
    found = []
    for distribution in distributions(path=[directory]):
        try:
            text = distribution.read_text("entry_points.txt") or ""
            if _GROUP_PREFIX in text:
                found.append((distribution.name, tuple(_plugins_of(distribution))))
        except Exception as error:  # one package's broken metadata must not hide the other packages
            log.warning("The entry points of %s cannot be read: %r", _place(distribution), error)
    return tuple(found)


def plugin_packages() -> Iterator[tuple[Distribution, frozenset[str]]]:
    """Iterate over the installed packages with plugins, headrace left out, with their plugins' top-level modules."""
    for distribution in distributions():
        plugins = list(_plugins_of(distribution)) if distribution.name != _OWN else []
        if plugins:
            yield distribution, frozenset(plugin.module.partition(".")[0] for plugin in plugins)


def _plugins_of(distribution: Distribution) -> Iterator[KnownPlugin]:
    for point in distribution.entry_points:
        kind = _KINDS.get(point.group)
        if kind is not None:
            yield KnownPlugin(kind, point.value.split("[")[0].strip(), alias=point.name)


def _place(distribution: Distribution) -> str:
    return str(getattr(distribution, "_path", distribution))


def register_plugins(session: object) -> None:
    """Call the function of each entry point of ``headrace.functions`` with a session that is not in use yet.

    Runs plugins' code on the caller's thread. A function that fails is logged and skipped.
    """
    for plugin in known_plugins():
        if plugin.kind is PluginKind.FUNCTIONS:
            try:
                _register(plugin, session)
            except (Exception, SystemExit) as error:
                log.warning("Plugin %s (%s) registers nothing: %r", plugin.alias, plugin.target, error)


def _register(plugin: KnownPlugin, session: object) -> None:
    module, _, path = plugin.target.partition(":")
    register: Any = importlib.import_module(module)
    for part in path.split("."):
        register = getattr(register, part)
    register(session)
