# SPDX-License-Identifier: Apache-2.0
"""The Java objects that do what the plugins of a task do, so that Java's records need not become Python's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.java.converters import JavaConverter, PluginInstance
from headrace.java.data import java_map
from headrace.java.errors import java_errors
from headrace.java.instances import HeldInstance, held_instance

_KAFKA: Final = "org.apache.kafka.connect."
_OURS: Final = "headrace."


def counterpart(plugin: object, java_name: str, configs: Mapping[str, Any], *more: Any) -> HeldInstance | None:
    """Return the Java object of a configured plugin; None if only Python can do what it does.

    It is the plugin's own, or for one of headrace's that is known by the name of Kafka's class, `java_name`, an
    instance of that class, which `configs` and `more` configure. Both give the same bytes for the same data.
    """
    if isinstance(plugin, JavaConverter) and plugin.uses_headers:
        return None
    if isinstance(plugin, PluginInstance):
        java: HeldInstance | None = plugin.java
        return java
    if not java_name.startswith(_KAFKA) or not type(plugin).__module__.startswith(_OURS):
        return None
    made = held_instance((), java_name)
    with java_errors():
        made.configure(java_map(configs), *more)
    return made
