# SPDX-License-Identifier: Apache-2.0
"""Jars with class files that are written byte by byte, as a compiler for Java would write them."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

PUBLIC: Final = 0x0001
PRIVATE: Final = 0x0002
ABSTRACT: Final = 0x0400
INTERFACE: Final = 0x0200
KAFKA: Final = "org.apache.kafka.connect"
SOURCE: Final = f"{KAFKA}.source.SourceConnector"
SINK: Final = f"{KAFKA}.sink.SinkConnector"
SOURCE_TASK: Final = f"{KAFKA}.source.SourceTask"
SINK_TASK: Final = f"{KAFKA}.sink.SinkTask"
CONVERTER: Final = f"{KAFKA}.storage.Converter"
HEADER_CONVERTER: Final = f"{KAFKA}.storage.HeaderConverter"
TRANSFORMATION: Final = f"{KAFKA}.transforms.Transformation"
PREDICATE: Final = f"{KAFKA}.transforms.predicates.Predicate"
_OBJECT: Final = "java.lang.Object"


class _Constants:
    """A constant pool: texts, classes, and one of each other kind that javac writes."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._count = 1
        self._texts: dict[str, int] = {}
        self._add(struct.pack(">Bq", 5, 1 << 40), places=2)  # a long
        self._add(struct.pack(">Bi", 3, 7))  # an int
        self._add(struct.pack(">Bd", 6, 0.5), places=2)  # a double
        self._add(struct.pack(">BHH", 12, 1, 1))  # a name with a type
        self._add(struct.pack(">BBH", 15, 6, 1))  # a handle of a method
        self._add(struct.pack(">BHH", 18, 0, 1))  # a lambda

    def text(self, text: str) -> int:
        if text not in self._texts:
            encoded = text.encode()
            self._texts[text] = self._add(struct.pack(">BH", 1, len(encoded)) + encoded)
        return self._texts[text]

    def cls(self, name: str) -> int:
        return self._add(struct.pack(">BH", 7, self.text(name.replace(".", "/"))))

    def written(self) -> bytes:
        return struct.pack(">H", self._count) + bytes(self._bytes)

    def _add(self, constant: bytes, places: int = 1) -> int:
        index = self._count
        self._bytes += constant
        self._count += places
        return index


def class_file(
    name: str,
    parent: str = _OBJECT,
    interfaces: Iterable[str] = (),
    flags: int = PUBLIC,
    constructors: Mapping[str, int] | None = None,
) -> bytes:
    """The file of a class. `constructors` are flags by types of parameters; by default a public one of none."""
    constants = _Constants()
    this, super_class = constants.cls(name), constants.cls(parent)
    implemented = [constants.cls(each) for each in interfaces]
    code = constants.text("Code")
    attribute = struct.pack(">HIB", code, 1, 0)
    field = struct.pack(">HHHH", PRIVATE, constants.text("count"), constants.text("I"), 1) + attribute
    methods = [(PUBLIC, "stop", "()V")]
    methods += [
        (each, "<init>", types) for types, each in ({"()V": PUBLIC} if constructors is None else constructors).items()
    ]
    written = [
        struct.pack(">HHHH", each, constants.text(called), constants.text(types), 1) + attribute
        for each, called, types in methods
    ]
    head = struct.pack(">IHH", 0xCAFEBABE, 0, 61)
    body = struct.pack(">HHHH", flags, this, super_class, len(implemented))
    body += b"".join(struct.pack(">H", each) for each in implemented)
    body += struct.pack(">H", 1) + field + struct.pack(">H", len(written)) + b"".join(written) + struct.pack(">H", 0)
    return head + constants.written() + body


def make_jar(
    path: Path,
    classes: Mapping[str, bytes],
    services: Mapping[str, str] | None = None,
    manifest: str | None = None,
) -> Path:
    """Write a jar of classes, by dotted name, with files of services, by interface, and the lines of a manifest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        if manifest is not None:
            jar.writestr("META-INF/MANIFEST.MF", manifest)
        for name, content in classes.items():
            jar.writestr(f"{name.replace('.', '/')}.class", content)
        for interface, lines in (services or {}).items():
            jar.writestr(f"META-INF/services/{interface}", lines)
    return path


def shop_plugin(directory: Path, version: str = "1.2") -> Path:
    """A source connector with its task in a directory of `directory`; the connector's parent is in another jar."""
    base = {"shop.BaseConnector": class_file("shop.BaseConnector", SOURCE, flags=PUBLIC | ABSTRACT)}
    make_jar(directory / "shop" / "lib" / f"shop-core-{version}.jar", base)
    own = {
        "shop.ShopSourceConnector": class_file("shop.ShopSourceConnector", "shop.BaseConnector"),
        "shop.ShopSourceTask": class_file("shop.ShopSourceTask", SOURCE_TASK),
    }
    return make_jar(directory / "shop" / f"shop-{version}.jar", own)
