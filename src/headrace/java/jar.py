# SPDX-License-Identifier: Apache-2.0
"""The index of one jar: those of its classes that may be plugins, its services and its version."""

from __future__ import annotations

import hashlib
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.java.class_file import ClassFile, read_class
from headrace.java.plugin import JavaKind

_CLASS: Final = ".class"
_SERVICES: Final = "META-INF/services/"
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_OTHER_VERSIONS: Final = "META-INF/versions/"
_OF_JAVA: Final = ("java/", "javax/", "jdk/", "sun/")
_END_OF_TABLE: Final = b"PK\x05\x06"
_END_BYTES: Final = (1 << 16) + 22
"""The most bytes that are from the end of the table of contents to that of the file."""
_LARGE_BYTES: Final = 16 << 20
"""No compiler writes a class of this size."""
_VERSION: Final = re.compile(r"-(\d[\w.+-]*?)(?:-all|-jar-with-dependencies|-shaded)?\.(?:jar|zip)$", re.IGNORECASE)
UNREADABLE: Final = (
    OSError,
    ValueError,
    RuntimeError,
    EOFError,
    KeyError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""The errors of reading a file that is no jar, is cut off, or is encrypted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A class that may be a plugin: it has ``ancestors`` outside of its jar that are not Java's own."""

    usable: bool
    ancestors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JarIndex:
    """The index of a jar. Names of classes are as in class files, with slashes.

    ``services`` are the classes that the jar has and declares in ``META-INF/services`` (KIP-898), by kind.
    """

    version: str | None
    services: Mapping[str, tuple[str, ...]]
    candidates: Mapping[str, Candidate]


def fingerprint(path: Path) -> str:
    """Return a digest of a jar's name and of its table of contents, which has the checksum of each file in it.

    Raise one of ``UNREADABLE`` if it has no such table.
    """
    with path.open("rb") as jar:
        start = max(0, jar.seek(0, 2) - _END_BYTES)
        jar.seek(start)
        tail = jar.read()
        at = tail.rfind(_END_OF_TABLE)
        if at < 0:
            raise ValueError("it is no zip file, or is cut off")
        (size,) = struct.unpack_from("<I", tail, at + 12)
        jar.seek(max(0, start + at - size))
        digest = hashlib.sha256(path.name.encode(errors="surrogateescape"))
        digest.update(jar.read())
    return digest.hexdigest()


def read_jar(path: Path) -> JarIndex:
    """Read a jar, all its class files included. Raise one of ``UNREADABLE`` if it is broken."""
    with zipfile.ZipFile(path) as jar:
        classes = dict(_classes(jar))
        names = set(jar.namelist())
        services = {kind.value: _service(jar, kind, names) for kind in JavaKind if _SERVICES + kind.base in names}
        version = _manifest_version(jar.read(_MANIFEST)) if _MANIFEST in names else None
    matched = _VERSION.search(path.name)
    return JarIndex(version or (matched[1] if matched else None), services, dict(_candidates(classes)))


def _classes(jar: zipfile.ZipFile) -> Iterator[tuple[str, ClassFile]]:
    for entry in jar.infolist():
        name = entry.filename
        if name.endswith(_CLASS) and not name.startswith(_OTHER_VERSIONS) and entry.file_size < _LARGE_BYTES:
            try:
                read = read_class(jar.read(entry))
            except ValueError:  # a class that no Java could load either must not hide the others
                continue
            if read.name + _CLASS == name:
                yield read.name, read


def _candidates(classes: Mapping[str, ClassFile]) -> Iterator[tuple[str, Candidate]]:
    known: dict[str, tuple[str, ...]] = {}
    for name, read in classes.items():
        if ancestors := _ancestors(name, classes, known):
            yield name, Candidate(read.usable, ancestors)


def _ancestors(name: str, classes: Mapping[str, ClassFile], known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the nearest ancestors outside of ``classes`` and of Java. ``known`` has those that were found before."""
    if name not in known:
        known[name] = ()  # for classes that are their own ancestors
        found: dict[str, None] = {}
        for parent in classes[name].parents:
            if parent in classes:
                found |= dict.fromkeys(_ancestors(parent, classes, known))
            elif not parent.startswith(_OF_JAVA):
                found[parent] = None
        known[name] = tuple(found)
    return known[name]


def _service(jar: zipfile.ZipFile, kind: JavaKind, names: set[str]) -> tuple[str, ...]:
    lines = jar.read(_SERVICES + kind.base).decode("utf-8", "replace").splitlines()
    classes = (line.partition("#")[0].strip().replace(".", "/") for line in lines)
    return tuple(name for name in classes if name and name + _CLASS in names)


def _manifest_version(manifest: bytes) -> str | None:
    """Return the Implementation-Version of the main section, in which long lines continue after a space."""
    text = re.sub(r"\r?\n ", "", manifest.decode("utf-8", "replace"))
    main = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]
    matched = re.search(r"^Implementation-Version:[ \t]*(\S+)[ \t]*\r?$", main, re.IGNORECASE | re.MULTILINE)
    return matched[1] if matched else None
