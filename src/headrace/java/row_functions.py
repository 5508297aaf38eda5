# SPDX-License-Identifier: Apache-2.0
"""Functions of a row's elements in several arrays, which Java calls for all rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from headrace.java.arrays import integers
from headrace.java.functions import Cell, Handle, after, as_interface
from headrace.java.jvm import java_class

OBJECTS: Final = "java.lang.Object[]"


class RowFunction:
    """A function whose arguments are elements of arrays; Java compiles one for all arrays.

    Threads call it one after the other.
    """

    def __init__(self, make: Callable[..., Handle], *kinds: str) -> None:
        """Make one of arrays of these kinds.

        ``make`` returns the function of a row's number; its arguments are the arrays, each of which has ``element``.
        """
        self._cells = [Cell(kind) for kind in kinds]
        self._function = as_interface("IntFunction", make(*self._cells))
        self._lock = threading.Lock()

    def __call__(self, rows: int, *arrays: Any) -> Any:
        """Return an array of the results. Raise Java's exception if the function throws one."""
        with self._lock:
            try:
                for cell, array in zip(self._cells, arrays, strict=True):
                    cell.put(array)
                return java_class("java.util.stream.IntStream").range(0, rows).mapToObj(self._function).toArray()
            finally:
                for cell in self._cells:
                    cell.put(None)


def elements_at(elements: Any, places: Sequence[int]) -> Any:
    """Return an array of the elements at some places of an array of objects; that behind the last one is null."""
    with_null = java_class("java.util.Arrays").copyOf(elements, len(elements) + 1)
    return _elements_at()(len(places), with_null, integers(places))


@cache
def _elements_at() -> RowFunction:
    return RowFunction(lambda elements, places: after(places.element(), elements.element()), OBJECTS, "int[]")
