# SPDX-License-Identifier: Apache-2.0
"""Search for Java plugins in ``plugin.path``, without a JVM. Java: ``PluginUtils``, ``PluginScanner``."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from headrace.api.connector import UNDEFINED_VERSION
from headrace.java.jar import Candidate, JarIndex
from headrace.java.jar_cache import JarCache
from headrace.java.plugin import JavaKind, JavaPlugin

log = logging.getLogger(__name__)

_ARCHIVES: Final = (".jar", ".zip")
_KINDS: Final = {kind.base.replace(".", "/"): (kind,) for kind in JavaKind}
_CONVERTERS: Final = (JavaKind.CONVERTER, JavaKind.HEADER_CONVERTER)
_OF_KAFKA: Final = "org/apache/kafka/connect"
# Classes of Kafka Connect itself that plugins extend: they are not in the plugins' jars.
_PARENTS: Final[Mapping[str, tuple[JavaKind, ...]]] = {
    **_KINDS,
    **dict.fromkeys((f"{_OF_KAFKA}/{name}" for name in ("json/JsonConverter", "storage/StringConverter")), _CONVERTERS),
    **dict.fromkeys((f"{_OF_KAFKA}/converters/{name}Converter" for name in ("ByteArray", "Number")), _CONVERTERS),
    f"{_OF_KAFKA}/storage/SimpleHeaderConverter": (JavaKind.HEADER_CONVERTER,),
}
_RUNTIME: Final = re.compile(rf"{_OF_KAFKA}/(runtime|storage/(?!StringConverter|SimpleHeaderConverter))")
"""The classes that every plugin gets from Kafka Connect, also if its jars have them."""
_CACHE: Final = JarCache()


def scan(plugin_path: Iterable[Path], cache: JarCache = _CACHE) -> tuple[JavaPlugin, ...]:
    """Return the plugins of all locations in ``plugin_path``: tasks too, and each version of a plugin.

    A location that cannot be read is left out, with a warning.
    """
    found: list[JavaPlugin] = []
    for location, jars in locations(plugin_path):
        found += plugins_in(location, jars, cache)
    return tuple(found)


def locations(plugin_path: Iterable[Path]) -> Iterator[tuple[Path, tuple[Path, ...]]]:
    """Iterate over the plugins' locations with their jars: directories in ``plugin_path``, and single jars.

    Python packages and hidden directories are no locations. Paths are absolute; symbolic links are followed.
    """
    for place in dict.fromkeys(path.absolute() for path in plugin_path):
        if _is_archive(place):
            yield from ((each, (each,)) for each in (place,) if each.is_file())
        else:
            yield from _locations_in(place)


def _locations_in(place: Path) -> Iterator[tuple[Path, tuple[Path, ...]]]:
    try:
        entries = sorted(place.iterdir())
    except OSError:  # the lookup of Python's modules warns of it
        return
    for entry in entries:
        if _is_archive(entry) and entry.is_file():
            yield entry, (entry,)
        elif not _is_hidden(entry.name) and entry.is_dir() and (jars := jars_in(entry)):
            yield entry, jars


def jars_in(directory: Path) -> tuple[Path, ...]:
    """Return the jars in a directory and in those below it, such as `lib`, sorted; each one once."""
    jars: dict[Path, None] = {}
    seen: set[str] = set()
    for place, below, names in os.walk(directory, followlinks=True):
        real = os.path.realpath(place)
        if real in seen or "__init__.py" in names:
            below.clear()
            continue
        seen.add(real)
        below[:] = sorted(name for name in below if not _is_hidden(name))
        files = (Path(place) / name for name in names if _is_archive(Path(name)))
        jars |= dict.fromkeys(Path(os.path.realpath(file)) if file.is_symlink() else file for file in files)
    return tuple(sorted(jar for jar in jars if jar.is_file()))


def plugins_in(location: Path, jars: Sequence[Path], cache: JarCache = _CACHE) -> Iterator[JavaPlugin]:
    """Iterate over the plugins of a location. The hierarchy of a class may be spread over its jars."""
    indexes = [cache.index(jar) for jar in jars]
    classes: dict[str, Candidate] = {}
    for index in indexes:
        classes = {**index.candidates, **classes}
    seen: set[tuple[JavaKind, str]] = set()
    for index in indexes:
        for kind, name in _found(index, classes):
            if (kind, name) not in seen and not _RUNTIME.match(name):
                seen.add((kind, name))
                version = index.version or UNDEFINED_VERSION
                yield JavaPlugin(kind, name.replace("/", "."), version, tuple(jars), location)


def _found(index: JarIndex, classes: Mapping[str, Candidate]) -> Iterator[tuple[JavaKind, str]]:
    """Iterate over the plugins of a jar: the declared ones first, then those that its hierarchies show."""
    for kind, names in index.services.items():
        yield from ((JavaKind(kind), name) for name in names)
    for name, candidate in index.candidates.items():
        if candidate.usable:
            yield from ((kind, name) for kind in _kinds(candidate.ancestors, classes, {name}))


def _kinds(ancestors: Iterable[str], classes: Mapping[str, Candidate], seen: set[str]) -> Iterator[JavaKind]:
    for ancestor in ancestors:
        if ancestor in seen:
            continue
        seen.add(ancestor)
        if ancestor in classes:
            yield from _kinds(classes[ancestor].ancestors, classes, seen)
        yield from _PARENTS.get(ancestor, ())


def _is_archive(path: Path) -> bool:
    return path.name.lower().endswith(_ARCHIVES)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__"
