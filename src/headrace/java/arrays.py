# SPDX-License-Identifier: Apache-2.0
"""Numbers, bytes and texts that cross between Python and Java as one array: JPype would convert one after the other."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, Final

from headrace.java.functions import as_interface, length_of_bytes, method
from headrace.java.jvm import java_class, jpype

WORTH_COLUMNS: Final = 20
"""Rows that cross as columns in less time than one by one."""
_NULL: Final = -1
_COPIED_AT_ONCE: Final = 32 * 1024 * 1024
"""Bytes of a column; those of a longer one cross one by one, as their copies would take the memory of it thrice."""
_COPIED_AS_BUFFER: Final = 4096
"""Bytes from which on it takes less to make a buffer of them, which Java copies at once."""


def python_numbers(kind: str, numbers: Any) -> list[Any]:
    """Return an array of Java's numbers as a list; ``kind`` is their type code in the module ``array``."""
    found = array(kind)
    found.frombytes(memoryview(numbers).tobytes())
    return found.tolist()


def integers(numbers: Iterable[int]) -> Any:
    """Return an ``int[]``."""
    return _arrays("int")(memoryview(array("i", numbers)))


def longs(numbers: Iterable[int]) -> Any:
    """Return a ``long[]``. Raise OverflowError for a number that is none."""
    return _arrays("long")(memoryview(array("q", numbers)))


def doubles(numbers: Iterable[float]) -> Any:
    """Return a ``double[]``."""
    return _arrays("double")(memoryview(array("d", numbers)))


def booleans(values: Iterable[bool]) -> Any:
    """Return a ``boolean[]``; ``values`` are not empty."""
    return _arrays("boolean")(memoryview(bytes(values)).cast("?"))


def array_of(kind: str, elements: Sequence[Any]) -> Any:
    """Return an array of the elements; ``kind`` is their class."""
    return _arrays(kind)(elements)


def nulls(kind: str, size: int) -> Any:
    """Return an array of that class, of as many nulls."""
    return _arrays(kind)(size)


def joined_bytes(column: Sequence[bytes | None]) -> Any:
    """Return all bytes of a column as one ``byte[]``."""
    data = bytearray().join(filter(None, column))
    if len(data) < _COPIED_AS_BUFFER:
        return _arrays("byte")(bytes(data))
    made = _arrays("byte")(len(data))
    jpype().nio.convertToDirectBuffer(data).get(made)
    return made


def joined_texts(column: Sequence[str]) -> tuple[Any, list[int]]:
    """Return all texts of a column as one of Java's, and where in it each ends."""
    joined = "".join(column)
    lengths: Iterable[int] = map(len, column)
    if not joined.isascii() and len(joined.encode("utf-16-le")) > 2 * len(joined):
        # To Java, a character beyond the first 65,536 has a length of two.
        lengths = (len(text.encode("utf-16-le")) // 2 for text in column)
    return java_class("java.lang.String")(joined), list(accumulate(lengths))


def bytes_column(column: Any) -> list[bytes | None]:
    """Return a Java list of byte arrays and nulls as Python's."""
    functions = _functions()
    lengths = python_numbers("i", column.stream().mapToInt(functions.length_of_bytes).toArray())
    if max(lengths, default=_NULL) == _NULL:
        return [None] * len(lengths)
    full = min(lengths) != _NULL
    ends = list(accumulate(lengths if full else (max(length, 0) for length in lengths)))
    if ends[-1] > _COPIED_AT_ONCE:
        return [None if each is None else bytes(each) for each in column.toArray()]
    joined = java_class("java.io.ByteArrayOutputStream")(ends[-1])
    write = as_interface("Consumer", functions.write_bytes.bindTo(joined))
    column.stream().filter(functions.not_null).forEach(write)
    data = bytes(joined.toByteArray())
    if full:
        return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    rows = zip(lengths, [0, *ends], ends, strict=False)
    return [None if length == _NULL else data[start:end] for length, start, end in rows]


def text_column(column: Any) -> list[str]:
    """Return a Java list of texts as Python's. Raise UnicodeError for half of a surrogate pair."""
    lengths = python_numbers("i", column.stream().mapToInt(_functions().length_of_text).toArray())
    ends = list(accumulate(lengths))
    if not ends or ends[-1] > _COPIED_AT_ONCE:
        return [str(each) for each in column.toArray()]
    joined = str(java_class("java.lang.String").join("", column))
    if len(joined) == ends[-1]:
        return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    units = joined.encode("utf-16-le")
    return [units[2 * start : 2 * end].decode("utf-16-le") for start, end in zip([0, *ends], ends, strict=False)]


@cache
def _arrays(kind: str) -> Any:
    """Return the class of arrays of a class or a primitive type."""
    return java_class(f"{kind}[]")


@cache
def _functions() -> SimpleNamespace:
    return SimpleNamespace(
        length_of_bytes=as_interface("ToIntFunction", length_of_bytes(_NULL)),
        length_of_text=as_interface("ToIntFunction", method("java.lang.String", "length")),
        not_null=as_interface("Predicate", method("java.util.Objects", "nonNull", "java.lang.Object")),
        write_bytes=method("java.io.ByteArrayOutputStream", "writeBytes", "byte[]"),
    )
