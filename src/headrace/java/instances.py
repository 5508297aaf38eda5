# SPDX-License-Identifier: Apache-2.0
"""Instances of plugins' classes, which are held in Java, so that JPype never sees one.

JPype reads the whole class of an object that it is given, and refuses one with a type in a signature that cannot be
loaded, which Java notices only where it is used. And it follows an exception's causes without limit if they are a
circle. So an instance stays in a cell of Java's, method handles call it as what Kafka Connect knows it as, and an
exception is caught in Java and comes back as a result. A call takes two microseconds more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

from headrace.java.errors import java_errors
from headrace.java.functions import Cell, call, caught
from headrace.java.jvm import Jars, class_loader, find_class, java_class

_OBJECT: Final = "java.lang.Object"


def held_instance(jars: Jars, name: str) -> HeldInstance:
    """Return a new instance of a plugin's class.

    Raises:
        ConfigError: there is no such class in the plugin's jars, or not all that it needs.
    """
    found = find_class(jars, name)
    with java_errors(f"Cannot create an instance of {name}"):
        return HeldInstance(found)


def class_loader_of(plugin: HeldInstance) -> AbstractContextManager[None]:
    """Return a context in which the class loader of an instance is that of the thread."""
    return class_loader(plugin.java_class.getClassLoader())


def public_methods(plugin: HeldInstance) -> list[Any] | None:
    """Return the public methods of an instance's class; None if one names a class that cannot be loaded."""
    try:
        return list(plugin.java_class.getMethods())
    except java_class("java.lang.LinkageError"):
        return None


class HeldInstance:
    """An instance of a plugin's class, with the methods of Kafka Connect's classes that it extends or implements.

    They are called as those of Java's objects are; numbers have to be of Java's types.
    """

    def __init__(self, found: Any) -> None:
        """Make the instance of a ``java.lang.Class``. Raise Java's exceptions."""
        self.java_class = found
        self._methods = _methods(found)
        self._names = {name for name, _ in self._methods}
        self._handles: dict[tuple[str, int], Any] = {}
        self._instance = Cell(_OBJECT)
        with class_loader(found.getClassLoader()):
            call(_creation(found, self._instance))

    def is_a(self, name: str) -> bool:
        """Return True if it is an instance of a class of Kafka Connect."""
        return bool(java_class(name).class_.isAssignableFrom(self.java_class))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"{self.java_class.getName()} has no {name} that Kafka Connect knows")
        return partial(self._invoke, name)

    def handle(self, name: str, parameters: int) -> Any:
        """Return the method handle of a method, by the number of its parameters, which are objects. It may throw."""
        return _handle(self._methods[name, parameters], self._instance)

    def _invoke(self, name: str, *arguments: Any) -> Any:
        key = name, len(arguments)
        handle = self._handles.get(key)
        if handle is None:
            handle = self._handles[key] = caught(_handle(self._methods[key], self._instance))
        return call(handle, *arguments)


def _methods(plugin: Any) -> dict[tuple[str, int], Any]:
    """Return the methods by their names and numbers of parameters, by which all in Kafka Connect's classes differ."""
    loader = plugin.getClassLoader()
    own = not loader.equals(java_class("java.lang.ClassLoader").getSystemClassLoader())
    known = _known_classes(plugin, loader) if own else [plugin]
    return {
        (str(method.getName()), int(method.getParameterCount())): method
        for each in known
        for method in each.getMethods()
    }


def _known_classes(plugin: Any, loader: Any) -> Iterator[Any]:
    """Yield the nearest classes and interfaces above ``plugin`` that are not ``loader``'s."""
    for above in filter(None, (plugin.getSuperclass(), *plugin.getInterfaces())):
        if loader.equals(above.getClassLoader()):
            yield from _known_classes(above, loader)
        else:
            yield above


def _creation(plugin: Any, instance: Cell) -> Any:
    """Return the handle that makes the instance."""
    constructor = (
        java_class("java.lang.invoke.MethodHandles")
        .publicLookup()
        .unreflectConstructor(plugin.getDeclaredConstructor())
    )
    return caught(instance.filled_by(constructor.asType(constructor.type().generic())))


def _handle(method: Any, instance: Cell) -> Any:
    """Return the handle that calls a method of the instance."""
    called = java_class("java.lang.invoke.MethodHandles").publicLookup().unreflect(method)
    return instance.bound_to(called.asType(called.type().generic()))
