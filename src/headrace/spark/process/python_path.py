# SPDX-License-Identifier: Apache-2.0
"""The module search path of Spark's Python processes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

PLUGIN_PATH_VARIABLE: Final = "HEADRACE_PLUGIN_PATH"
"""The environment variable with the directories of plugins, for processes that Spark starts."""


def without_spark_archives(path: Sequence[str]) -> list[str]:
    """Return ``path`` without zip and jar files, if PySpark is installed beside them.

    Spark puts its ``pyspark.zip`` and a jar of its own first, and clears each new process' cache of the path: reading
    their directories again takes a quarter of a second, which is most of a task's start.
    """
    plain = [entry for entry in path if not entry.endswith((".zip", ".jar"))]
    installed = any((Path(entry) / "pyspark" / "__init__.py").exists() for entry in plain)
    return plain if installed else list(path)


def plugin_directories(environment: Mapping[str, str]) -> list[str]:
    """Return the variable's directories, made absolute: relative ones are in executors' working directories."""
    return [
        str(Path(place).absolute()) for place in environment.get(PLUGIN_PATH_VARIABLE, "").split(os.pathsep) if place
    ]
