# SPDX-License-Identifier: Apache-2.0
"""What plugins add to a Spark session: functions for queries, data sources of Python."""

from __future__ import annotations

import importlib
import logging
from typing import Any

from headrace.plugins.builtin import KnownPlugin, PluginKind
from headrace.plugins.installed import known_plugins

log = logging.getLogger(__name__)


def register_plugins(session: object) -> None:
    """Call the function of each entry point of ``headrace.functions`` with a session that nobody uses yet.

    Runs code of plugins, on the caller's thread. One that fails is logged and left out; the others are not hidden.
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
