# SPDX-License-Identifier: Apache-2.0
"""Java's functions that make columns of objects: of numbers, of parts of what is joined, and of what objects hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from headrace.java.functions import (
    Cell,
    Handle,
    after,
    array_element,
    as_interface,
    constructor,
    for_any_number,
    method,
    of_number,
    of_same,
)
from headrace.java.jvm import java_class
from headrace.java.row_functions import OBJECTS, RowFunction

_DATA: Final = "org.apache.kafka.connect.data"
_OBJECT: Final = "java.lang.Object"
_LIST: Final = "java.util.List"
_PLACES: Final = ("int[]", "int[]")


@cache
def column_functions() -> SimpleNamespace:
    """Return the functions of all columns."""
    return SimpleNamespace(
        bytes=RowFunction(_cut("java.util.Arrays", "copyOfRange", "byte[]", "int", "int"), "byte[]", *_PLACES),
        decimal=as_interface("Function", constructor("java.math.BigDecimal", "java.lang.String")),
        list=RowFunction(_copied(_cut(_LIST, "subList", "int", "int")), _LIST, *_PLACES),
        map=RowFunction(lambda: for_any_number(constructor("java.util.LinkedHashMap"))),
        numbers=_number_functions(),
        put_entry=RowFunction(_put_entry, OBJECTS, OBJECTS, OBJECTS),
        put_field=RowFunction(_put_field, OBJECTS, f"{_DATA}.Field", OBJECTS),
        struct=RowFunction(_new_struct, f"{_DATA}.Schema"),
        text=RowFunction(_cut("java.lang.String", "substring", "int", "int"), "java.lang.String", *_PLACES),
    )


def _cut(owner: str, name: str, *parameters: str) -> Callable[[Cell, Cell, Cell], Handle]:
    """Return the maker of the function that cuts a part of what is joined, by where the part starts and ends."""
    part = method(owner, name, *parameters)
    return lambda joined, starts, ends: of_same(joined.bound_to(part), starts.element(), ends.element())


def _copied(make: Callable[[Cell, Cell, Cell], Handle]) -> Callable[[Cell, Cell, Cell], Handle]:
    copy = constructor("java.util.ArrayList", "java.util.Collection")
    return lambda joined, starts, ends: after(make(joined, starts, ends), copy)


def _new_struct(schema: Cell) -> Handle:
    return after(schema.for_any("int"), constructor(f"{_DATA}.Struct", f"{_DATA}.Schema"))


def _put_field(structs: Cell, field: Cell, values: Cell) -> Handle:
    put = method(f"{_DATA}.Struct", "put", f"{_DATA}.Field", _OBJECT)
    return of_same(put, structs.element(), field.for_any("int"), values.element())


def _put_entry(maps: Cell, keys: Cell, values: Cell) -> Handle:
    put = method("java.util.Map", "put", _OBJECT, _OBJECT)
    return of_same(put, maps.element(), keys.element(), values.element())


def _number_functions() -> dict[str, tuple[Any, Any]]:
    """Return, by classes, a function that makes a stream of an array, and one that makes an object of a number."""
    ints, longs, doubles = (java_class(f"java.util.stream.{name}Stream").of for name in ("Int", "Long", "Double"))
    made = {
        "java.lang.Boolean": (ints, as_interface("IntFunction", array_element("java.lang.Boolean", [False, True]))),
        "java.util.Date": (longs, as_interface("LongFunction", constructor("java.util.Date", "long"))),
    }
    for name, kind in (("Byte", "byte"), ("Short", "short"), ("Integer", "int"), ("Long", "long")):
        made[f"java.lang.{name}"] = longs, as_interface("LongFunction", _boxed(name, kind, "long"))
    for name, kind in (("Float", "float"), ("Double", "double")):
        made[f"java.lang.{name}"] = doubles, as_interface("DoubleFunction", _boxed(name, kind, "double"))
    return made


def _boxed(name: str, kind: str, given: str) -> Handle:
    return of_number(method(f"java.lang.{name}", "valueOf", kind), given)
