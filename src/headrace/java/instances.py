# SPDX-License-Identifier: Apache-2.0
"""Instances of plugins' classes, of which one is held in Java, so that JPype never sees it.

JPype reads the whole class of an object that it is given, and refuses one with a type in a signature that cannot be
loaded, which Java minds only where it is used. And it follows an exception's causes for ever if they are a circle. So
the instance stays in an array of Java's, method handles call it as what Kafka Connect knows it as, and an exception is
caught in Java and comes back as a result. A call takes two microseconds more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

from headrace.java.errors import java_errors
from headrace.java.jvm import Jars, class_loader, find_class, java_class, jpype

_LINKAGE_ERROR: Final = "java.lang.LinkageError"


def instance(jars: Jars, name: str) -> Any:
    """Return a new instance of a plugin's class, for fast calls: a held one only if JPype refuses its class.

    Raises:
        ConfigError: there is no such class in the plugin's jars, or not all that it needs.
    """
    return held_instance(jars, name) if _is_refused(find_class(jars, name)) else _seen_instance(jars, name)


def held_instance(jars: Jars, name: str) -> HeldInstance:
    """Return a new held instance of a plugin's class. Raise ConfigError as ``instance`` does."""
    found = find_class(jars, name)
    with java_errors(f"Cannot create an instance of {name}"):
        return HeldInstance(found)


def class_of(plugin: Any) -> Any:
    """Return the ``java.lang.Class`` of an instance."""
    return plugin.java_class if isinstance(plugin, HeldInstance) else plugin.getClass()


def class_loader_of(plugin: Any) -> AbstractContextManager[None]:
    """Return a context in which the class loader of an instance is that of the thread."""
    return class_loader(class_of(plugin).getClassLoader())


def public_methods(plugin: Any) -> list[Any] | None:
    """Return the public methods of an instance's class; None if one names a class that cannot be loaded."""
    try:
        return list(class_of(plugin).getMethods())
    except java_class(_LINKAGE_ERROR):
        return None


def _is_refused(found: Any) -> bool:
    """Return True if JPype cannot have instances of a class."""
    for _ in range(2):  # it minds once if a public nested class cannot be loaded
        try:
            jpype().JClass(found)
        except java_class(_LINKAGE_ERROR):
            continue
        return False
    return True


def _seen_instance(jars: Jars, name: str) -> Any:
    found = find_class(jars, name)
    with java_errors(f"Cannot create an instance of {name}"), class_loader(found.getClassLoader()):
        try:
            return found.getDeclaredConstructor().newInstance()
        except java_class("java.lang.reflect.InvocationTargetException") as error:
            raise error.getCause() from None  # what the constructor has thrown


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
        self._place = _objects(None)
        with class_loader(found.getClassLoader()):
            _call(_creation(found, self._place))

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
            handle = self._handles[key] = _caught(_handle(self._methods[key], self._place))
        return _call(handle, *arguments)


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
    return _caught(handles.filterReturnValue(made, into_place))


def _handle(method: Any, place: Any) -> Any:
    """Return the handle that calls a method of the instance in ``place``."""
    handles, array = java_class("java.lang.invoke.MethodHandles"), _array_class()
    called = handles.publicLookup().unreflect(method)
    taken = handles.insertArguments(handles.arrayElementGetter(array), 0, place, jpype().JInt(0))
    return handles.foldArguments(called.asType(called.type().generic()), taken)


def _caught(handle: Any) -> Any:
    """Return the handle with a result in any case: an exception is one, too."""
    handles, types = java_class("java.lang.invoke.MethodHandles"), java_class("java.lang.invoke.MethodType")
    handle = handle.asType(handle.type().generic())
    anything, thrown = java_class("java.lang.Object").class_, java_class("java.lang.Throwable").class_
    as_result = handles.identity(anything).asType(types.methodType(anything, thrown))
    return handles.catchException(handle, thrown, as_result)


def _call(handle: Any, *arguments: Any) -> Any:
    result = handle.invokeWithArguments(_objects(*arguments))
    if isinstance(result, java_class("java.lang.Throwable")):
        raise result
    return result


def _objects(*values: Any) -> Any:
    return jpype().JArray(java_class("java.lang.Object"))(values)


def _array_class() -> Any:
    return jpype().JArray(java_class("java.lang.Object")).class_
