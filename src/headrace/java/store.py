# SPDX-License-Identifier: Apache-2.0
"""Installed Java plugins: a directory with one directory a plugin, and a lock file with the digest of each jar."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError, ConnectError
from headrace.java.archives import unpack
from headrace.java.lock_file import LOCK_FILE, LockedPlugin, digests, read_lock, write_lock
from headrace.java.maven import is_coordinate, plugin_jars
from headrace.java.plugin import JavaKind, JavaPlugin
from headrace.java.scan import jars_in, plugins_in
from headrace.jvm.user_cache import locked

Progress = Callable[[str], None]
_LOCK: Final = ".lock"
_UNFINISHED: Final = ".installing-"
_REPLACED: Final = "replaced"
_TASKS: Final = (JavaKind.SOURCE_TASK, JavaKind.SINK_TASK)


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed plugin. ``provides`` are the connectors and others in its jars; ``more`` is as in the lock file."""

    name: str
    source: str
    directory: Path
    provides: tuple[JavaPlugin, ...]
    more: tuple[str, ...] = ()


class PluginStore:
    """A directory of ``plugin.path``. Processes that change it at once wait for each other."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.expanduser().absolute()

    def install(self, source: str, progress: Progress = lambda _: None, more: Sequence[str] = ()) -> Installed:
        """Install a Maven coordinate, an archive, a directory or a URL, in place of an installed one of its name.

        ``more`` are Maven coordinates of what the plugin finds only when it runs, such as drivers: their jars, and what
        they need, are put beside its own.

        Raises:
            ConfigError: there is no such thing, it has no plugin, or the directory cannot be written.
            RetriableError: it cannot be downloaded now.
        """
        with self._changes():
            return self._install(source, tuple(more), None, progress)

    def install_locked(self, progress: Progress = lambda _: None) -> list[Installed]:
        """Install what the lock file lists, unless it is installed just so. ConnectError if a digest differs."""
        with self._changes():
            listed = read_lock(self.directory)
            if not listed:
                raise ConfigError(f"{self.directory / LOCK_FILE} is missing or lists no plugin")
            return [
                self._described(plugin)
                if self._is_there(plugin)
                else self._install(plugin.source, plugin.more, plugin, progress)
                for plugin in listed.values()
            ]

    def installed(self) -> list[Installed]:
        """Return the plugins of the lock file whose directories are there, sorted by name."""
        listed = read_lock(self.directory).values()
        return [self._described(plugin) for plugin in listed if (self.directory / plugin.name).is_dir()]

    def damaged(self, name: str) -> list[str]:
        """Return the jars of a plugin that are not those that were installed: changed, missing, or added."""
        expected, found = read_lock(self.directory)[name].jars, digests(self.directory / name)
        return sorted(jar for jar in expected.keys() | found.keys() if expected.get(jar) != found.get(jar))

    def remove(self, name: str) -> None:
        """Remove an installed plugin. KeyError if there is none of this name."""
        with self._changes():
            listed = read_lock(self.directory)
            del listed[name]
            write_lock(self.directory, listed)
            shutil.rmtree(self.directory / name, ignore_errors=True)

    def _install(
        self, source: str, more: tuple[str, ...], locked_as: LockedPlugin | None, progress: Progress
    ) -> Installed:
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=self.directory) as temporary:
            name = locked_as.name if locked_as else None
            made, found = _fetch(source, more, Path(temporary), progress)
            name = name or found
            plugin = LockedPlugin(name, _absolute(source), digests(made), more)
            if locked_as is not None:
                _check(plugin.jars, locked_as)
            elif not _provided(made):
                raise ConfigError(f"{source} has no connector, converter, transformation or predicate of Kafka Connect")
            self._replace(made, self.directory / name, Path(temporary))
        write_lock(self.directory, {**read_lock(self.directory), name: plugin})
        return self._described(plugin)

    def _replace(self, made: Path, target: Path, temporary: Path) -> None:
        if target.exists():
            if target.name not in read_lock(self.directory):
                raise ConfigError(f"{target} is there and was not installed by headrace; remove it first")
            target.rename(temporary / _REPLACED)
        made.chmod(0o755)
        try:
            made.rename(target)
        except OSError:
            if (temporary / _REPLACED).exists():
                (temporary / _REPLACED).rename(target)
            raise

    def _is_there(self, plugin: LockedPlugin) -> bool:
        directory = self.directory / plugin.name
        return directory.is_dir() and digests(directory) == plugin.jars

    def _described(self, plugin: LockedPlugin) -> Installed:
        directory = self.directory / plugin.name
        return Installed(plugin.name, plugin.source, directory, _provided(directory), plugin.more)

    @contextmanager
    def _changes(self) -> Iterator[None]:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with locked(self.directory / _LOCK):
                for left in self.directory.glob(f"{_UNFINISHED}*"):  # by a process that was killed
                    shutil.rmtree(left, ignore_errors=True)
                yield
        except OSError as error:
            raise ConfigError(f"{self.directory} cannot be written: {error.strerror or error}") from error


def _fetch(source: str, more: Sequence[str], temporary: Path, progress: Progress) -> tuple[Path, str]:
    """Make a directory of what ``source`` is, with what is installed with it; return it, and the plugin's name."""
    if other := [each for each in more if not is_coordinate(each)]:
        raise ConfigError(f"Cannot install '{other[0]}' with '{source}': it is not of the form group:name:version")
    if is_coordinate(source):
        made, name = temporary / "jars", source.split(":")[1]
        made.mkdir()
        jars = plugin_jars([source, *more], progress)
    else:
        made, name = unpack(source, temporary, progress)
        jars = plugin_jars(more, progress) if more else ()
    for jar in jars:
        shutil.copyfile(jar, made / jar.name)
    return made, name


def _absolute(source: str) -> str:
    """Return a source as the lock file has it, which is read in other directories too."""
    if is_coordinate(source) or "://" in source:
        return source
    return str(Path(source).expanduser().absolute())


def _provided(directory: Path) -> tuple[JavaPlugin, ...]:
    found = plugins_in(directory, jars_in(directory))
    return tuple(sorted((each for each in found if each.kind not in _TASKS), key=lambda each: each.class_name))


def _check(found: Mapping[str, str], expected: LockedPlugin) -> None:
    names = found.keys() | expected.jars.keys()
    wrong = sorted(name for name in names if found.get(name) != expected.jars.get(name))
    if wrong:
        raise ConnectError(
            f"{expected.source} is not what {LOCK_FILE} has (SHA-256) in {', '.join(wrong)}, and is not installed. "
            "Find out where it comes from"
        )
