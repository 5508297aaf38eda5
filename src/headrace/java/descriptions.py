# SPDX-License-Identifier: Apache-2.0
"""The properties and versions of converters, transformations and predicates, also for processes that have no JVM."""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.api.config_def import ConfigDef, Type
from headrace.api.connector import UNDEFINED_VERSION
from headrace.java import jvm
from headrace.java.config_def import python_config_def
from headrace.java.errors import java_errors
from headrace.java.instances import class_loader_of, held_instance
from headrace.java.jvm import Jars

_LONGEST_SECONDS: Final = 60.0


class Description(NamedTuple):
    """The definition of a plugin's properties, and its version."""

    config: ConfigDef
    version: str


def describe(jars: Jars, name: str) -> Description:
    """Return the description of a plugin's class, from this process's JVM if it has one, or else from a host.

    Raises:
        ConfigError: there is no such class, or JPype is not installed.
        NoJavaError: there is no Java.
        ConnectError: the plugin failed, or took too long.
    """
    if jvm.is_started():
        return described(jars, name)
    jvm.jpype()  # raises the same error in less time
    from headrace.java.shared_hosts import SHARED

    found: Description = SHARED.call_once(jars, "describe", name, _LONGEST_SECONDS, f"{name}.config")
    return found


def described(jars: Jars, name: str) -> Description:
    """Return the description of a plugin's class. Needs this process's JVM."""
    plugin = held_instance(jars, name)
    with java_errors(f"Cannot read the properties of {name}"), class_loader_of(plugin):
        config = python_config_def(plugin.config(), class_type=Type.STRING)
        version = plugin.version() if hasattr(plugin, "version") else None
    return Description(config, UNDEFINED_VERSION if version is None else str(version))
