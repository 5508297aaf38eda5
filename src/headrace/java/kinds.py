# SPDX-License-Identifier: Apache-2.0
"""Columns of Java's whose elements are of several kinds, such as schemas or classes, converted kind by kind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.java.arrays import python_numbers
from headrace.java.functions import Handle, after, as_interface, as_number, method
from headrace.java.jvm import java_class

_MOST: Final = 20
"""Kinds in a column up to which each is worth a pass over it."""
_KEPT: Final = 2_000
_OBJECT: Final = "java.lang.Object"


class TooManyKindsError(DataError):
    """The elements of a column are of so many kinds that each is to be converted by itself."""


def by_kind(column: Any, kind_of: Handle, convert_of: Callable[[Any], Callable[[Any], list[Any]]]) -> list[Any]:
    """Return a Java list, converted; `convert_of` returns the function that converts the elements of a kind.

    Raise TooManyKindsError if there are too many.
    """
    kinds = column.stream().map(_function(kind_of)).distinct().limit(_MOST + 1).toArray()
    if len(kinds) == 1:
        return convert_of(kinds[0])(column)
    if len(kinds) > _MOST:
        raise TooManyKindsError("There are too many kinds of values")
    converted: list[Any] = [None] * int(column.size())
    for kind in kinds:
        is_kind, as_flag = _tests(kind_of, kind)
        flags = python_numbers("i", column.stream().mapToInt(as_flag).toArray())
        values = convert_of(kind)(column.stream().filter(is_kind).toList())
        for row, value in zip((row for row, flag in enumerate(flags) if flag), values, strict=True):
            converted[row] = value
    return converted


@functools.lru_cache(_KEPT)
def _function(kind_of: Handle) -> Any:
    return as_interface("Function", kind_of)


@functools.lru_cache(_KEPT)
def _tests(kind_of: Handle, kind: Any) -> tuple[Any, Any]:
    """Return whether an element is of a kind, as a predicate and as a function to 1 or 0."""
    equals = method("java.util.Objects", "equals", _OBJECT, _OBJECT)
    test = after(kind_of, java_class("java.lang.invoke.MethodHandles").insertArguments(equals, 0, [kind]))
    return as_interface("Predicate", test), as_interface("ToIntFunction", as_number(test))
