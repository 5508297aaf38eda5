# SPDX-License-Identifier: Apache-2.0
"""The worker's own files: those with its settings, and the directories of its code."""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Final

import headrace
from headrace.config.access_config import AUDIT_FILE
from headrace.config.worker_config import WorkerConfig

_AROUND_PATHS: Final = re.compile(r"[\s,:;=\"']+")
"""The separators of paths in values: in lists, class paths, URLs, JVM options, JAAS."""
_LOCAL_DIRECTORY: Final = "spark.local.dir"


def worker_files(config: WorkerConfig, *files: str | os.PathLike[str]) -> Set[str]:
    """Return the given files, each existing file that a property names, and all directories that code comes from.

    The audit log is included, which may not exist yet.
    """
    found = {*(os.fspath(file) for file in files), *_named_files(config), *_code(), *config.plugin_path}
    found |= set(filter(None, (*config.raw.get(_LOCAL_DIRECTORY, "").split(","), config.get(AUDIT_FILE))))
    return frozenset(found)


def _named_files(config: WorkerConfig) -> Iterator[str]:
    for text in config.raw.values():
        for part in (text.strip(), *_AROUND_PATHS.split(text)):
            if part and os.path.isfile(part):
                yield part


def _code() -> Iterator[str]:
    """Return the directories of imported modules, of the interpreter and of the programs beside it."""
    yield from filter(os.path.exists, sys.path)
    yield str(Path(headrace.__file__).parent)
    yield str(Path(sys.executable).parent)
    yield str(Path(sys.prefix) / "pyvenv.cfg")
    yield site.getusersitepackages()
