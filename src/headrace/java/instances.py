# SPDX-License-Identifier: Apache-2.0
"""Instances of plugins' classes, which are held in Java, so that JPype never sees one.

JPype reads the whole class of an object that it is given, and refuses one with a type in a signature that cannot be
loaded, which Java notices only where it is used. And it follows an exception's causes without limit if they are a
circle. So an instance stays in an array of Java's, method handles call it as what Kafka Connect knows it as, and an
exception is caught in Java and comes back as a result. A call takes two microseconds more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from headrace.java.errors import java_errors
from headrace.java.functions import call, caught, objects
from headrace.java.jvm import Jars, class_loader, find_class, java_class, jpype


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
        self._place = objects(None)
        with class_loader(found.getClassLoader()):
            call(_creation(found, self._place))

    def is_a(self, name: str) -> bool:
        """Return True if it is an instance of a class of Kafka Connect."""
        return bool(java_class(name).class_.isAssignableFrom(self.java_class))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"{self.java_class.getName()} has no {name} that Kafka Connect knows")
        return partial(self._invoke, name)

    def handle(self, name: str, parameters: int) -> Any:
        """Return the method handle of a method, by the number of its parameters, which are objects. It may throw."""
        return _handle(self._methods[name, parameters], self._place)

    def _invoke(self, name: str, *arguments: Any) -> Any:
        key = name, len(arguments)
        handle = self._handles.get(key)
        if handle is None:
            handle = self._handles[key] = caught(_handle(self._methods[key], self._place))
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


def _creation(plugin: Any, place: Any) -> Any:
    """Return the handle that makes the instance and puts it into ``place``."""
    handles, array = java_class("java.lang.invoke.MethodHandles"), _array_class()
    constructor = handles.publicLookup().unreflectConstructor(plugin.getDeclaredConstructor())
    into_place = handles.insertArguments(handles.arrayElementSetter(array), 0, place, jpype().JInt(0))
    made = constructor.asType(constructor.type().generic())
    return caught(handles.filterReturnValue(made, into_place))


def _handle(method: Any, place: Any) -> Any:
    """Return the handle that calls a method of the instance in ``place``."""
    handles, array = java_class("java.lang.invoke.MethodHandles"), _array_class()
    called = handles.publicLookup().unreflect(method)
    taken = handles.insertArguments(handles.arrayElementGetter(array), 0, place, jpype().JInt(0))
    return handles.foldArguments(called.asType(called.type().generic()), taken)


def _array_class() -> Any:
    return jpype().JArray(java_class("java.lang.Object")).class_
