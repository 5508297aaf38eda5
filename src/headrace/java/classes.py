# SPDX-License-Identifier: Apache-2.0
"""Python classes that stand for Java's, so that workers and tasks use both alike."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any, Final

from headrace.java.plugin import JavaKind, JavaPlugin, stand_for

FACTORIES: Final[Mapping[JavaKind, str]] = {
    JavaKind.SOURCE: "connector:source_connector_class",
    JavaKind.SINK: "connector:sink_connector_class",
    JavaKind.SOURCE_TASK: "source_task:source_task_class",
    JavaKind.SINK_TASK: "sink_task:sink_task_class",
    JavaKind.CONVERTER: "converters:converter_class",
    JavaKind.HEADER_CONVERTER: "converters:header_converter_class",
    JavaKind.TRANSFORMATION: "transformations:transformation_class",
    JavaKind.PREDICATE: "transformations:predicate_class",
}
"""The functions that make the classes. Their modules are imported on use: most processes run few kinds, or none."""
_CONNECTORS: Final = (JavaKind.SOURCE, JavaKind.SINK)


@functools.cache
def python_class(plugin: JavaPlugin) -> type:
    """Return the Python class of a plugin: always the same one, of which ``java_class_of`` returns the Java class.

    Starts no JVM: instances do, where they run.
    """
    module, _, function = FACTORIES[plugin.kind].partition(":")
    factory: Any = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    cls: type = factory(plugin) if plugin.kind in _CONNECTORS else factory(plugin.jars, plugin.class_name)
    cls.__module__ = factory.__module__  # else it is that of abc
    stand_for(cls, plugin.class_name)
    return cls
