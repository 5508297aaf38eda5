# SPDX-License-Identifier: Apache-2.0
"""Functions made of Java's methods, which Java applies to all elements of a list.

A call from Python takes about a microsecond, and each object that crosses as long again: more than most methods need.
So methods are joined to functions by method handles, and a list takes one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

from headrace.java.jvm import java_class, jpype

Handle: TypeAlias = Any
"""A ``java.lang.invoke.MethodHandle``."""
Recover: TypeAlias = Callable[[int, Any, Callable[[], Any]], Any]
"""Return the result, or null, for the element of that index, whose function has thrown that exception.

The last argument calls the function once more.
"""
_FUNCTION: Final = "java.util.function"
_OBJECT: Final = "java.lang.Object"


@cache
def method(owner: str, name: str, *parameters: str) -> Handle:
    """Return the handle of a public method by its class, its name, and the classes of its parameters."""
    found = java_class(owner).class_.getMethod(name, _classes(parameters))
    return _invoke().lookup.unreflect(found)


def constructor(owner: str, *parameters: str) -> Handle:
    """Return the handle of a public constructor by its class and the classes of its parameters."""
    return _invoke().lookup.unreflectConstructor(java_class(owner).class_.getConstructor(_classes(parameters)))


def with_values(function: Handle, values: Mapping[int, Any]) -> Handle:
    """Return ``function`` without the parameters at those places, which always have these values."""
    kinds = function.type()
    for place in sorted(values, reverse=True):
        value = values[place]
        if kinds.parameterType(place).isPrimitive():
            value = java_class("java.lang.Boolean" if isinstance(value, bool) else "java.lang.Integer")(value)
        function = _invoke().handles.insertArguments(function, place, [value])
    return function


def array_element(kind: str, elements: Sequence[Any]) -> Handle:
    """Return the function that returns the element at an index; ``kind`` is a class, int, long or boolean."""
    array = jpype().JArray(_primitives().get(kind) or java_class(kind))(elements)
    return _invoke().handles.arrayElementGetter(array.getClass()).bindTo(array)


def always(kind: str, value: Any, parameter: str) -> Handle:
    """Return the function of one parameter that returns ``value``, or null, of the class ``kind``."""
    handles, (returned, parameters) = _invoke().handles, _classes([kind, parameter])
    return handles.dropArguments(handles.constant(returned, value), 0, [parameters])


def of_same(function: Handle, *arguments: Handle) -> Handle:
    """Return ``function`` with its last parameters made of one, by each of the functions ``arguments``."""
    handles, parameter = _invoke().handles, arguments[0].type().parameterType(0)
    first = function.type().parameterCount() - len(arguments)
    kinds = [function.type().parameterType(first + place) for place in range(len(arguments))]
    fitting = [each.asType(each.type().changeReturnType(kind)) for each, kind in zip(arguments, kinds, strict=True)]
    joined = handles.filterArguments(function, first, fitting)
    others = joined.type().parameterList().subList(0, first)
    kind = _invoke().method_type(function.type().returnType(), others).appendParameterTypes([parameter])
    return handles.permuteArguments(joined, kind, [*range(first), *[first] * len(arguments)])


def after(function: Handle, result: Handle) -> Handle:
    """Return the function that calls ``result`` with what ``function`` returns."""
    parameter = result.type().parameterType(0)
    return _invoke().handles.filterReturnValue(function.asType(function.type().changeReturnType(parameter)), result)


def if_else(test: Handle, then: Handle, otherwise: Handle) -> Handle:
    """Return the function that calls one of two functions of the same type, as ``test`` says."""
    return _invoke().handles.guardWithTest(test, then, otherwise)


def or_else(value: Any) -> Handle:
    """Return the function that returns its argument, or ``value`` in place of null."""
    return with_values(method("java.util.Objects", "requireNonNullElse", _OBJECT, _OBJECT), {1: value})


def identity(name: str) -> Handle:
    """Return the function that returns its argument, of that class."""
    return _invoke().handles.identity(java_class(name).class_)


def length_of_bytes(null: int) -> Handle:
    """Return the function that returns the length of a byte array, or ``null``."""
    handles, array = _invoke().handles, java_class("byte[]").class_
    is_null = method("java.util.Objects", "isNull", "java.lang.Object")
    is_null = is_null.asType(is_null.type().changeParameterType(0, array))
    length = handles.arrayLength(array)
    constant = handles.constant(length.type().returnType(), java_class("java.lang.Integer")(null))
    return if_else(is_null, handles.dropArguments(constant, 0, [array]), length)


def as_object(function: Handle) -> Handle:
    """Return a function whose parameters and result are of any class."""
    return function.asType(function.type().generic())


def as_test(function: Handle) -> Handle:
    """Return a function that returns a boolean of Java's, of one that returns it as an object."""
    return function.asType(function.type().changeReturnType(jpype().JBoolean.class_))


def as_number(function: Handle) -> Handle:
    """Return a function whose result is 1 or 0, of one that returns a boolean of Java's."""
    return _invoke().handles.explicitCastArguments(function, function.type().changeReturnType(jpype().JInt.class_))


def of_number(function: Handle, kind: str) -> Handle:
    """Return a function of a number with another number of the type ``kind``, which is cast as Java casts it."""
    parameters = function.type().changeParameterType(0, _classes([kind])[0])
    return _invoke().handles.explicitCastArguments(function, parameters)


def as_interface(name: str, handle: Handle) -> Any:
    """Return an instance of the functional interface ``name`` of ``java.util.function`` that calls ``handle``."""
    return _invoke().proxies.asInterfaceInstance(java_class(f"{_FUNCTION}.{name}").class_, handle)


def caught(function: Handle) -> Handle:
    """Return ``function`` with a result in any case: an exception is one, too.

    JPype would follow the causes of one that is thrown, without limit if they are a circle.
    """
    handles, function = _invoke().handles, as_object(function)
    anything, thrown = java_class("java.lang.Object").class_, java_class("java.lang.Throwable").class_
    as_result = handles.identity(anything).asType(_invoke().method_type(anything, thrown))
    return handles.catchException(function, thrown, as_result)


def call(function: Handle, *arguments: Any) -> Any:
    """Return the result of a function that is ``caught``. Raise what it has thrown."""
    result = function.invokeWithArguments(objects(*arguments))
    if isinstance(result, java_class("java.lang.Throwable")):
        raise result
    return result


class Cell:
    """A value in Java that functions read whenever they are called, so that Java compiles one for all its values."""

    def __init__(self, kind: str) -> None:
        """Make one that is null; ``kind`` is the class of its values."""
        handles, self._array = _invoke().handles, objects(None)
        (self._kind,) = _classes([kind])
        get = handles.arrayElementGetter(self._array.getClass())
        get = handles.insertArguments(get, 0, self._array, jpype().JInt(0))
        self._get = get.asType(_invoke().method_type(self._kind))

    def put(self, value: Any) -> None:
        """Replace the value."""
        self._array[0] = value

    def filled_by(self, function: Handle) -> Handle:
        """Return ``function``, which returns the value, as one that puts it here."""
        handles = _invoke().handles
        fill = handles.arrayElementSetter(self._array.getClass())
        return after(function, handles.insertArguments(fill, 0, self._array, jpype().JInt(0)))

    def bound_to(self, function: Handle) -> Handle:
        """Return ``function`` with the value as its first argument."""
        return _invoke().handles.foldArguments(function, self._get)

    def element(self) -> Handle:
        """Return the function that returns the element at an index of the value, which is an array."""
        return self.bound_to(_invoke().handles.arrayElementGetter(self._kind))

    def for_any(self, parameter: str) -> Handle:
        """Return the function of one parameter, of that class, that returns the value."""
        return _invoke().handles.dropArguments(self._get, 0, _classes([parameter]))


def for_any_number(function: Handle) -> Handle:
    """Return the function of a number that returns what ``function``, which has no parameters, does."""
    return _invoke().handles.dropArguments(function, 0, [jpype().JInt.class_])


def for_each_number(function: Handle) -> Handle:
    """Return the function of a count that calls ``function`` with each number below it."""
    handles, number = _invoke().handles, jpype().JInt.class_
    nothing = function.asType(function.type().changeReturnType(java_class("java.lang.Void").TYPE))
    return handles.countedLoop(handles.identity(number), None, handles.dropArguments(nothing, 1, [number]))


def objects(*values: Any) -> Any:
    """Return an array of Java objects."""
    return _object_array()(values)


@cache
def for_each(owner: str, consumer: str) -> Handle:
    """Return ``forEach`` of a class, ``caught``; ``consumer`` is its parameter's interface, of ``java.util.function``.

    One for all batches, so that Java compiles it.
    """
    return caught(method(owner, "forEach", f"{_FUNCTION}.{consumer}"))


class BatchFunction:
    """A function of one parameter for lists. One thread at a time."""

    def __init__(self, function: Handle) -> None:
        # One list for all calls, so that Java compiles the function with it.
        self._results = java_class("java.util.ArrayList")()
        add = method("java.util.ArrayList", "add", "java.lang.Object").bindTo(self._results)
        self._single = caught(function)
        self._each = as_interface("Consumer", after(function, add))

    def __call__(self, elements: Any, recover: Recover) -> Any:
        """Return a Java list of the results for the elements of one.

        The function is called once for each, in order; one that throws has the result of ``recover``, which may raise.
        """
        results, remaining, each = self._results, elements, for_each("java.util.List", "Consumer")
        try:
            while (error := each.invokeWithArguments(objects(remaining, self._each))) is not None:
                failed = results.size()
                again = partial(call, self._single, elements.get(failed))
                results.add(recover(failed, _thrown(error), again))
                remaining = elements.subList(failed + 1, elements.size())
            return java_class("java.util.ArrayList")(results)
        finally:
            results.clear()


def without(elements: Any, rows: Iterable[int]) -> Any:
    """Return a Java list of the elements but those of some rows."""
    rest = java_class("java.util.ArrayList")(elements)
    for row in rows:
        rest.set(row, None)
    return without_nulls(rest)


def without_nulls(elements: Any) -> Any:
    """Return a Java list, of which nulls are removed."""
    if elements.indexOf(None) >= 0:
        elements.removeIf(as_interface("Predicate", method("java.util.Objects", "isNull", "java.lang.Object")))
    return elements


def _classes(names: Sequence[str]) -> list[Any]:
    return [(_primitives().get(name) or java_class(name)).class_ for name in names]


@cache
def _object_array() -> Any:
    return jpype().JArray(java_class("java.lang.Object"))


@cache
def _primitives() -> dict[str, Any]:
    bridge = jpype()
    return {
        "boolean": bridge.JBoolean,
        "byte": bridge.JByte,
        "double": bridge.JDouble,
        "float": bridge.JFloat,
        "int": bridge.JInt,
        "long": bridge.JLong,
        "short": bridge.JShort,
    }


def _thrown(error: Any) -> Any:
    """Return what the function has thrown: interfaces throw a checked exception wrapped in another one."""
    wrapper = java_class("java.lang.reflect.UndeclaredThrowableException")
    return error.getCause() if isinstance(error, wrapper) else error


@cache
def _invoke() -> SimpleNamespace:
    handles = java_class("java.lang.invoke.MethodHandles")
    return SimpleNamespace(
        handles=handles,
        lookup=handles.publicLookup(),
        method_type=java_class("java.lang.invoke.MethodType").methodType,
        proxies=java_class("java.lang.invoke.MethodHandleProxies"),
    )
