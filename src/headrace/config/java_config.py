# SPDX-License-Identifier: Apache-2.0
"""The options of the JVM that a task with a Java plugin has in its process: the worker's, then the connector's own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.api.config_def import ConfigDef, Importance, Type, Width
from headrace.api.errors import ConfigError
from headrace.api.validators import LambdaValidator

JAVA_OPTIONS: Final = "java.options"
CONNECTOR_JAVA_OPTIONS: Final = "connector.java.options"
DEFAULT_JAVA_OPTIONS: Final = "-Xmx512m"
_CLASS_PATHS: Final = ("-cp", "-classpath", "--class-path", "-jar", "-Djava.class.path")
_COLLECTOR: Final = re.compile(r"-XX:[+-]Use\w+GC")
_FOR_HOSTS: Final = ("-D", "--")
"""The beginnings of options that connectors need too, for trust stores, proxies and modules."""
_OF_CONNECTORS: Final = re.compile(
    r"-X(?:ms|mx|mn|ss)\d+[kKmMgG]?"  # -Xmx2g
    r"|-XX:(?!On)[A-Z]\w*=\d+(?:\.\d+)?[kKmMgG]?"  # -XX:MaxRAMPercentage=50, and no program to run on an error
    r"|-XX:[+-]Use\w+GC"
)
"""Options of memory and garbage collection. Others load code, run programs or write files of the user who sets them."""


def define_java_options(definition: ConfigDef) -> ConfigDef:
    """Add the property to a worker's definition."""
    return definition.define(
        JAVA_OPTIONS, Type.STRING, DEFAULT_JAVA_OPTIONS, importance=Importance.LOW,
        validator=LambdaValidator(_check, lambda: "options of a JVM, separated by spaces"),
        doc="Options of the JVM in the process of each task with a Java plugin, such as the size of its heap; quotes "
            "keep spaces in an option. Processes of Java connectors have those that begin with -D or --. headrace "
            "only.",
    )  # fmt: skip


def define_connector_java_options(definition: ConfigDef, group: str, order: int) -> ConfigDef:
    """Add that of a connector, at ``order`` of ``group``."""
    return definition.define(
        CONNECTOR_JAVA_OPTIONS, Type.STRING, None, importance=Importance.LOW,
        validator=LambdaValidator(_check_connectors, lambda: "options of a JVM's memory and garbage collector"),
        doc="Options of memory and garbage collection for the JVM in the process of each of the connector's tasks, "
            "such as -Xmx2g; they follow the worker's java.options. Without effect unless a plugin is in Java.",
        group=group, order_in_group=order, width=Width.LONG, display_name="Java Options",
    )  # fmt: skip


def java_options(worker: Mapping[str, str], connector: Mapping[str, str]) -> tuple[str, ...]:
    """Return the JVM's options for a connector's tasks: of a kind that may be there once, the last one counts."""
    texts = worker.get(JAVA_OPTIONS, DEFAULT_JAVA_OPTIONS), connector.get(CONNECTOR_JAVA_OPTIONS) or ""
    return one_collector([option for text in texts for option in shlex.split(text)])


def host_options(worker: Mapping[str, str]) -> tuple[str, ...]:
    """Return those of the worker's options that connectors need too: system properties and access to modules."""
    return tuple(option for option in shlex.split(worker.get(JAVA_OPTIONS, "")) if option.startswith(_FOR_HOSTS))


def one_collector(options: Sequence[str]) -> tuple[str, ...]:
    """Return ``options`` with the last choice of a garbage collector only: a JVM refuses to start with two."""
    chosen = [place for place, option in enumerate(options) if _COLLECTOR.fullmatch(option)]
    return tuple(option for place, option in enumerate(options) if place not in chosen[:-1])


def _check(name: str, value: Any) -> None:
    for option in _options(name, value):
        if not option.startswith("-") or option.startswith(_CLASS_PATHS):
            reason = f"{option} is no option of a JVM, or sets its class path, which headrace does itself"
            raise ConfigError.invalid(name, value, reason)


def _check_connectors(name: str, value: Any) -> None:
    for option in _options(name, value):
        if not _OF_CONNECTORS.fullmatch(option):
            reason = (
                f"{option} is no option of memory or garbage collection, such as -Xmx2g or -XX:MaxDirectMemorySize=1g; "
                f"others have to be in the worker's {JAVA_OPTIONS}"
            )
            raise ConfigError.invalid(name, value, reason)


def _options(name: str, value: Any) -> list[str]:
    try:
        return shlex.split(value or "")
    except ValueError as error:
        raise ConfigError.invalid(name, value, f"a quote is not closed: {error}") from error
