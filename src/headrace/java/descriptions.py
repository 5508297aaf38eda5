# SPDX-License-Identifier: Apache-2.0
"""The properties and versions of converters, transformations and predicates, for processes that have no JVM.

A process with one (`python -m headrace.java.descriptions CLASS JAR...`) runs for as long as it takes to ask the plugin;
the answer is kept.
"""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from headrace.api.config_def import ConfigDef, Type
from headrace.api.connector import UNDEFINED_VERSION
from headrace.api.errors import ConnectError
from headrace.java import jvm
from headrace.java.config_def import python_config_def
from headrace.java.errors import java_errors
from headrace.java.jvm import Jars

_LONGEST_SECONDS: Final = 120.0


class Description(NamedTuple):
    """The definition of a plugin's properties, and its version."""

    config: ConfigDef
    version: str


@functools.cache
def describe(jars: Jars, name: str) -> Description:
    """Return the description of a plugin's class, from this process's JVM if it has one.

    Raises:
        ConfigError: there is no such class, or JPype is not installed.
        NoJavaError: there is no Java.
        ConnectError: the plugin failed, or took too long.
    """
    return _described(jars, name) if jvm.is_started() else _ask(jars, name)


def _described(jars: Jars, name: str) -> Description:
    plugin = jvm.instance(jars, name)
    with java_errors(f"Cannot read the properties of {name}"), jvm.class_loader_of(plugin):
        config = python_config_def(plugin.config(), class_type=Type.STRING)
        version = plugin.version() if hasattr(plugin, "version") else None
    return Description(config, UNDEFINED_VERSION if version is None else str(version))


def _ask(jars: Jars, name: str) -> Description:
    jvm.jpype()  # raises the same error in less time
    command = [sys.executable, "-m", "headrace.java.descriptions", name, *map(str, jars)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=_LONGEST_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ConnectError(f"{name} took longer than {_LONGEST_SECONDS:.0f} s to name its properties") from error
    if done.returncode:
        raise ConnectError(f"The process that reads the properties of {name} ended with status {done.returncode}")
    config, version, failure = pickle.loads(done.stdout)
    if failure is not None:
        raise failure
    return Description(config, version)


def _main(name: str, *jars: str) -> None:
    # What the plugin prints must not get into the answer.
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)
        try:
            config, version = _described(tuple(map(Path, jars)), name)
            answer.write(pickle.dumps((config, version, None)))
        except ConnectError as error:
            answer.write(pickle.dumps((None, None, error)))
    os._exit(0)  # threads of the plugin's may never end


if __name__ == "__main__":
    _main(*sys.argv[1:])
