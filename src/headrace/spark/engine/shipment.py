# SPDX-License-Identifier: Apache-2.0
"""What a worker sends to a cluster's executors: headrace itself and the plugins, so that neither is installed there.

Spark unpacks it into the working directory of each executor, where Python processes find it by relative paths.
"""

from __future__ import annotations

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

from headrace.config.worker_config import PLUGIN_PATH
from headrace.plugins.installed import plugin_packages
from headrace.spark.process.python_path import PLUGIN_PATH_VARIABLE
from headrace.task.task_spec import TaskSpec

_log = logging.getLogger(__name__)
_NAME: Final = "headrace-shipped"
_PACKAGES: Final = PurePosixPath("packages")
_PYTHON_PATH: Final = "spark.executorEnv.PYTHONPATH"
_PLUGINS: Final = f"spark.executorEnv.{PLUGIN_PATH_VARIABLE}"
_LARGE: Final = 100 << 20


class Shipment:
    """Made once by each worker; ``pack`` blocks, on one thread, the rest is for any."""

    def __init__(self, directory: Path, plugin_path: Sequence[str]) -> None:
        """``directory`` is where the archive is made."""
        self._file = directory / f"{_NAME}.zip"
        self._plugins = {
            f"plugins/{number}" + (f"/{Path(place).name}" if Path(place).is_file() else ""): Path(place).absolute()
            for number, place in enumerate(plugin_path)
        }

    def pack(self) -> str:
        """The archive as Spark's ``addArchive`` wants it. OSError."""
        if not self._file.exists():
            begun, unfinished = time.monotonic(), self._file.with_suffix(".unfinished")
            with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for name, content in self._content().items():
                    archive.writestr(_entry(name), _read(content), zipfile.ZIP_DEFLATED)
            unfinished.rename(self._file)
            self._tell(time.monotonic() - begun)
        return f"{self._file}#{_NAME}"

    def settings(self, given: Mapping[str, str]) -> dict[str, str]:
        """Spark's settings that have executors find what they get; before anything that ``given`` has them find."""
        path = [f"{_NAME}/{_PACKAGES}", *filter(None, [given.get(_PYTHON_PATH)])]
        plugins = {_PLUGINS: os.pathsep.join(self._relative())} if self._plugins else {}
        return {_PYTHON_PATH: os.pathsep.join(path), **plugins}

    def relocated(self, spec: TaskSpec) -> TaskSpec:
        """``spec`` for an executor: the worker's directories of plugins are elsewhere there."""
        if not self._plugins:
            return spec
        return replace(spec, worker_config={**spec.worker_config, PLUGIN_PATH: ",".join(self._relative())})

    def _relative(self) -> list[str]:
        return [f"{_NAME}/{place}" for place in self._plugins]

    def _content(self) -> dict[str, Path | str]:
        """By name in the archive; what comes twice is taken once."""
        content: dict[str, Path | str] = {}
        for package, modules in plugin_packages():
            for module in sorted(modules):
                _put(content, _module(module), _PACKAGES)
            content.update(_metadata(package))
        _put(content, [Path(__file__).parents[2]], _PACKAGES)
        for place, origin in self._plugins.items():
            for file, name in _files(origin):
                content[str(PurePosixPath(place) / name)] = file
        return content

    def _tell(self, seconds: float) -> None:
        size = self._file.stat().st_size
        level = logging.WARNING if size > _LARGE else logging.INFO
        _log.log(level, "Executors get headrace and plugins in %.1f MB, packed in %.1f s", size / (1 << 20), seconds)


def plugin_settings(plugin_path: Sequence[str]) -> dict[str, str]:
    """What ``Shipment.settings`` says of plugins, for processes on this machine."""
    places = os.pathsep.join(str(Path(place).absolute()) for place in plugin_path)
    return {_PLUGINS: places} if places else {}


def _put(content: dict[str, Path | str], origins: Sequence[Path], into: PurePosixPath) -> None:
    for origin in origins:
        for file, name in _files(origin):
            place = into / origin.name / name if origin.is_dir() else into / origin.name
            content.setdefault(str(place), file)


def _module(name: str) -> list[Path]:
    """The directories, or the file, of a top-level module, which is not imported."""
    spec = PathFinder.find_spec(name)
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(place) for place in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin else []


def _metadata(package: Distribution) -> Iterator[tuple[str, str]]:
    """What makes the package's entry points known, however it is installed here."""
    directory = _PACKAGES / f"{package.name.replace('-', '_')}-{package.version}.dist-info"
    for name in ("METADATA", "entry_points.txt"):
        yield str(directory / name), package.read_text(name) or ""


def _files(origin: Path) -> Iterator[tuple[Path, PurePosixPath]]:
    """Each file of a directory with its place in it, what Python compiled and what is hidden left out; or a file."""
    if origin.is_file():
        yield origin, PurePosixPath(".")
        return
    for directory, directories, names in os.walk(origin, followlinks=True):
        directories[:] = sorted(name for name in directories if name != "__pycache__" and not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and (Path(directory) / name).is_file():
                yield Path(directory) / name, PurePosixPath(*Path(directory).relative_to(origin).parts, name)


def _entry(name: str) -> zipfile.ZipInfo:
    """Readable by all who unpack it, and without a time, which may be one that the format cannot tell."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o644 << 16
    return entry


def _read(content: Path | str) -> bytes:
    return content.encode() if isinstance(content, str) else content.read_bytes()
