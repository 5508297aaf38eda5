# SPDX-License-Identifier: Apache-2.0
"""The archive for a cluster's executors: headrace itself and the plugins, so that neither is installed there.

Spark unpacks it into the working directory of each executor, where Python processes find it by relative paths. With
plugins in Java it has Kafka Connect's own jars too, in a directory that is the cache directory of these processes. Its
name has its checksum: archives with the same content have the same name, on any worker.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.machinery import PathFinder
from importlib.metadata import Distribution
from pathlib import Path, PurePosixPath
from typing import Final

from headrace.api.errors import ConnectError
from headrace.config.worker_config import PLUGIN_PATH
from headrace.java.jvm import runtime_jars
from headrace.java.scan import scan
from headrace.jvm.user_cache import CACHE_VARIABLE, JARS
from headrace.plugins.installed import plugin_packages
from headrace.spark.process.python_path import PLUGIN_PATH_VARIABLE
from headrace.task.task_spec import TaskSpec

log = logging.getLogger(__name__)
_NAME: Final = "headrace-shipped"
_PACKAGES: Final = PurePosixPath("packages")
_CACHE: Final = PurePosixPath("cache")
_PYTHON_PATH: Final = "spark.executorEnv.PYTHONPATH"
_PLUGINS: Final = f"spark.executorEnv.{PLUGIN_PATH_VARIABLE}"
_CACHE_PLACE: Final = f"spark.executorEnv.{CACHE_VARIABLE}"
_LARGE_BYTES: Final = 100 << 20
_COMPRESSED: Final = (".jar", ".zip")
"""Endings of files that another compression only costs time for."""


class Shipment:
    """A worker's archive. ``pack`` blocks, and is for one thread; the rest is for any."""

    def __init__(self, directory: Path, plugin_path: Sequence[str]) -> None:
        """The archive is made in ``directory``."""
        self._directory = directory
        self._file: Path | None = None
        self._plugins = {
            f"plugins/{number}" + (f"/{Path(place).name}" if Path(place).is_file() else ""): Path(place).absolute()
            for number, place in enumerate(plugin_path)
        }

    def pack(self) -> str:
        """Make the archive if it is missing, and return it as Spark's ``addArchive`` takes it. OSError."""
        if self._file is None or not self._file.exists():
            begun, unfinished = time.monotonic(), self._directory / f"{_NAME}.unfinished"
            with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for name, content in self._content().items():
                    archive.writestr(_entry(name), _read(content), _compression(name))
            self._file = unfinished.rename(self._directory / f"{_NAME}-{_checksum(unfinished)}.zip")
            _log_size(self._file.stat().st_size, time.monotonic() - begun)
        return f"{self._file}#{_NAME}"

    def settings(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return Spark's settings with executors' module paths: the archive first, then those of ``given``.

        The cache directory of ``given``, if it names one, is theirs: it has Kafka Connect's jars, or gets them.
        """
        path = [f"{_NAME}/{_PACKAGES}", *filter(None, [given.get(_PYTHON_PATH)])]
        plugins = {_PLUGINS: os.pathsep.join(self._relative())} if self._plugins else {}
        cache = given.get(_CACHE_PLACE) or f"{_NAME}/{_CACHE}"
        return {_PYTHON_PATH: os.pathsep.join(path), _CACHE_PLACE: cache, **plugins}

    def relocated(self, spec: TaskSpec) -> TaskSpec:
        """Return ``spec`` for an executor, where the directories of plugins are others."""
        if not self._plugins:
            return spec
        return replace(spec, worker_config={**spec.worker_config, PLUGIN_PATH: ",".join(self._relative())})

    def _relative(self) -> list[str]:
        return [f"{_NAME}/{place}" for place in self._plugins]

    def _content(self) -> dict[str, Path | str]:
        """Return the content by its name in the archive; the first of a name counts."""
        content: dict[str, Path | str] = {}
        for package, modules in plugin_packages():
            for module in sorted(modules):
                _put(content, _module(module), _PACKAGES)
            content.update(_metadata(package))
        _put(content, [Path(__file__).parents[2]], _PACKAGES)
        for place, origin in self._plugins.items():
            for file, name in _files(origin):
                content[str(PurePosixPath(place) / name)] = file
        if scan(self._plugins.values()):
            content.update(_runtime())
        return content


def _checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, hashlib.sha256).hexdigest()[:16]


def _log_size(size: int, seconds: float) -> None:
    level = logging.WARNING if size > _LARGE_BYTES else logging.INFO
    log.log(level, "Executors get headrace and plugins in %.1f MB, packed in %.1f s", size / (1 << 20), seconds)


def _runtime() -> Iterator[tuple[str, Path]]:
    """Yield Kafka Connect's jars with their names; none, after a warning, if they cannot be had here."""
    try:
        jars = runtime_jars()
    except ConnectError as error:
        log.warning("Executors do not get Kafka Connect's jars, and download them when they need them: %s", error)
        return
    for jar in jars:
        yield str(_CACHE / JARS / jar.parent.name / jar.name), jar


def plugin_settings(plugin_path: Sequence[str]) -> dict[str, str]:
    """Return the settings of ``Shipment.settings`` for plugins, for processes on this machine."""
    places = os.pathsep.join(str(Path(place).absolute()) for place in plugin_path)
    return {_PLUGINS: places} if places else {}


def _put(content: dict[str, Path | str], origins: Sequence[Path], into: PurePosixPath) -> None:
    for origin in origins:
        for file, name in _files(origin):
            place = into / origin.name / name if origin.is_dir() else into / origin.name
            content.setdefault(str(place), file)


def _module(name: str) -> list[Path]:
    """Find the directories, or the file, of a top-level module, without importing it."""
    spec = PathFinder.find_spec(name)
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(place) for place in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin else []


def _metadata(package: Distribution) -> Iterator[tuple[str, str]]:
    """Yield the files that make the package's entry points known, however it is installed here."""
    directory = _PACKAGES / f"{package.name.replace('-', '_')}-{package.version}.dist-info"
    for name in ("METADATA", "entry_points.txt"):
        yield str(directory / name), package.read_text(name) or ""


def _files(origin: Path) -> Iterator[tuple[Path, PurePosixPath]]:
    """Yield each file of a directory with its relative path, without compiled and hidden ones; or the file itself."""
    if origin.is_file():
        yield origin, PurePosixPath(".")
        return
    for directory, directories, names in os.walk(origin, followlinks=True):
        directories[:] = sorted(name for name in directories if name != "__pycache__" and not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and (Path(directory) / name).is_file():
                yield Path(directory) / name, PurePosixPath(*Path(directory).relative_to(origin).parts, name)


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry that all may read, and without a time, which the format may not be able to express."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o644 << 16
    return entry


def _compression(name: str) -> int:
    return zipfile.ZIP_STORED if name.endswith(_COMPRESSED) else zipfile.ZIP_DEFLATED


def _read(content: Path | str) -> bytes:
    return content.encode() if isinstance(content, str) else content.read_bytes()
