# SPDX-License-Identifier: Apache-2.0
"""Plugins' additions to a Spark session: functions for queries, Python data sources."""

from __future__ import annotations

import importlib
import logging
from typing import Any

from headrace.plugins.builtin import KnownPlugin, PluginKind
from headrace.plugins.installed import known_plugins

log = logging.getLogger(__name__)


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
