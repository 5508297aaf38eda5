# SPDX-License-Identifier: Apache-2.0
"""The parts of Java's class files that plugins are found by: names, parents, constructors (JVM specification, 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MAGIC: Final = b"\xca\xfe\xba\xbe"
_PUBLIC: Final = 0x0001
_INTERFACE: Final = 0x0200
_ABSTRACT: Final = 0x0400
_UTF8: Final = 1
_LENGTHS: Final = {
    3: 5,
    4: 5,
    5: 9,
    6: 9,
    7: 3,
    8: 3,
    9: 5,
    10: 5,
    11: 5,
    12: 5,
    15: 4,
    16: 3,
    17: 5,
    18: 5,
    19: 3,
    20: 3,
}
"""The bytes of a constant by its tag; a text's depend on it."""
_TWO_PLACES: Final = (5, 6)
"""The tags of constants that count twice: long and double."""


@dataclass(frozen=True, slots=True)
class ClassFile:
    """A class. Names are as in the file, with slashes; ``parents`` are the super class and the interfaces.

    ``usable`` is True if an instance can be made without arguments, as Kafka Connect does of plugins.
    """

    name: str
    parents: tuple[str, ...]
    usable: bool


def read_class(data: bytes) -> ClassFile:
    """Read a class file. Raise ValueError if it is none, or is cut off."""
    if data[:4] != _MAGIC:
        raise ValueError("it is no class file")
    try:
        return _Reader(data).read()
    except (IndexError, KeyError) as error:
        raise ValueError("it is cut off, or newer than this version of headrace knows") from error


class _Reader:
    """Reads one class file. IndexError and KeyError for one that is broken."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._constants, self._position = _constants(data)

    def read(self) -> ClassFile:
        flags, this, parent, interfaces = (self._short() for _ in range(4))
        parents = [parent, *(self._short() for _ in range(interfaces))]
        concrete = bool(flags & _PUBLIC) and not flags & (_INTERFACE | _ABSTRACT)
        names = tuple(self._class(each) for each in parents if each)
        # Most classes have Java's own parents only: looking at their methods would take the most time.
        usable = concrete and any(not name.startswith("java/") for name in names) and self._has_constructor()
        return ClassFile(self._class(this), names, usable)

    def _has_constructor(self) -> bool:
        self._skip_members()  # the fields
        for _ in range(self._short()):
            flags, name, descriptor = self._short(), self._short(), self._short()
            self._skip_attributes()
            if flags & _PUBLIC and self._text(name) == "<init>" and self._text(descriptor) == "()V":
                return True
        return False

    def _skip_members(self) -> None:
        for _ in range(self._short()):
            self._position += 6
            self._skip_attributes()

    def _skip_attributes(self) -> None:
        for _ in range(self._short()):
            start = self._position + 2
            self._position = start + 4 + int.from_bytes(self._data[start : start + 4], "big")

    def _short(self) -> int:
        position = self._position
        self._position = position + 2
        return self._data[position] << 8 | self._data[position + 1]

    def _class(self, index: int) -> str:
        position = self._constants[index]
        return self._text(self._data[position + 1] << 8 | self._data[position + 2])

    def _text(self, index: int) -> str:
        position = self._constants[index]
        length = self._data[position + 1] << 8 | self._data[position + 2]
        return self._data[position + 3 : position + 3 + length].decode("utf-8", "replace")


def _constants(data: bytes) -> tuple[list[int], int]:
    """Return the position of each constant by its index, and that of what follows them all."""
    count = data[8] << 8 | data[9]
    positions = [0] * count
    position, index = 10, 1
    while index < count:
        positions[index] = position
        tag = data[position]
        if tag == _UTF8:
            position += 3 + (data[position + 1] << 8 | data[position + 2])
        else:
            position += _LENGTHS[tag]
            index += tag in _TWO_PLACES
        index += 1
    return positions, position
