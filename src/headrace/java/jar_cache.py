# SPDX-License-Identifier: Apache-2.0
"""Indexes of jars, kept in memory and in the user's cache directory: reading a jar's classes takes a while."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import orjson

from headrace.java.jar import UNREADABLE, Candidate, JarIndex, fingerprint, read_jar
from headrace.jvm.user_cache import cache_directory

log = logging.getLogger(__name__)

_FORMAT: Final = 1
"""To be counted up when indexes change their form or their meaning: others are made again."""
_EMPTY: Final = JarIndex(None, {}, {})


class JarCache:
    """Indexes of jars: in memory by path, time of change and size, on disk by fingerprint, wherever a jar is.

    Thread-safe; processes may share the directory.
    """

    def __init__(self, directory: Path | None = None) -> None:
        """``directory`` is one below the user's cache directory by default."""
        self._directory = directory
        self._lock = threading.Lock()
        self._indexes: dict[tuple[Path, int, int], JarIndex] = {}

    def index(self, jar: Path) -> JarIndex:
        """Return the index of a jar; of one that cannot be read, an empty one, after a warning that names it."""
        try:
            status = jar.stat()
        except OSError:  # it was removed meanwhile
            return _EMPTY
        key = jar, status.st_mtime_ns, status.st_size
        with self._lock:
            known = self._indexes.get(key)
        if known is not None:
            return known
        try:
            index = self._find(jar)
        except UNREADABLE as error:
            log.warning("%s is no jar that can be read, and its plugins are left out: %s", jar, error)
            index = _EMPTY
        with self._lock:
            return self._indexes.setdefault(key, index)

    def _find(self, jar: Path) -> JarIndex:
        directory = self._directory or cache_directory() / "java-plugins"
        file = directory / f"{fingerprint(jar)[:40]}-{_FORMAT}.json"
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            return _index(orjson.loads(file.read_bytes()))
        index = read_jar(jar)
        with suppress(OSError):  # a cache that cannot be written costs time only
            _write(file, orjson.dumps(asdict(index)))
        return index


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as unfinished:
        try:
            unfinished.write(content)
            unfinished.flush()
            os.replace(unfinished.name, file)
        except BaseException:
            os.unlink(unfinished.name)
            raise


def _index(kept: dict[str, Any]) -> JarIndex:
    candidates = {
        name: Candidate(each["usable"], tuple(each["ancestors"])) for name, each in kept["candidates"].items()
    }
    return JarIndex(kept["version"], {kind: tuple(names) for kind, names in kept["services"].items()}, candidates)
