# SPDX-License-Identifier: Apache-2.0
"""Calls of a Java task, and the calls that it makes of the runtime.

Errors keep their meaning both ways: a Java exception is raised as one of ours, an error of the runtime reaches the Java
task as the exception that Java Connect would throw. If the task lets that one through, it is the same error again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.java.errors import java_errors
from headrace.java.instances import held_instance, public_methods
from headrace.java.jvm import Jars, class_loader, java_class, jpype

P = ParamSpec("P")
T = TypeVar("T")

_CONNECT_EXCEPTION: Final = "org.apache.kafka.connect.errors.ConnectException"
_EXCEPTIONS: Final = (
    (RetriableError, "org.apache.kafka.connect.errors.RetriableException"),
    (DataError, "org.apache.kafka.connect.errors.DataException"),
    (ConfigError, "org.apache.kafka.common.config.ConfigException"),
)
_thrown = threading.local()
"""``pair``: the last exception that was thrown into Java on a thread, and the runtime's error behind it."""


class JavaTask:
    """An instance of a plugin's Java class, called as Java Connect calls it. Starts this process's JVM."""

    def __init__(self, jars: Jars, class_name: str) -> None:
        self.instance = held_instance(jars, class_name)
        self._loader = self.instance.java_class.getClassLoader()
        self._class_name = class_name

    @contextmanager
    def calling(self, method: str, *, clients_too: bool = False) -> Iterator[Any]:
        """Give the Java object for a call of ``method``, with its class loader as that of the thread.

        ``clients_too`` is that of ``java_errors``.
        """
        doing = f"{method} of {self._class_name}"
        with java_errors(doing, clients_too=clients_too), class_loader(self._loader), _same_errors():
            yield self.instance

    def overrides(self, method: str, base: str) -> bool:
        """Return True if a class below ``base`` may have the public ``method``, with whatever parameters."""
        methods = public_methods(self.instance)
        if methods is None:
            return True
        owners = {str(each.getDeclaringClass().getName()) for each in methods if each.getName() == method}
        return bool(owners - {base})


def for_java(function: Callable[P, T]) -> Callable[P, T]:
    """Return ``function`` for calls from Java, which get its errors as Java's exceptions."""

    @wraps(function)
    def called_from_java(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except jpype().JException:
            raise
        except Exception as error:
            thrown = java_exception(error)
            _thrown.pair = thrown, error
            raise thrown from error

    return called_from_java


def java_exception(error: BaseException) -> Any:
    """Return the exception that Java Connect has for an error."""
    name = next((name for kind, name in _EXCEPTIONS if isinstance(error, kind)), _CONNECT_EXCEPTION)
    text = str(error) if isinstance(error, ConnectError) else f"{type(error).__name__}: {error}"
    return java_class(name)(text)


def proxy(interface: str, **methods: Callable[..., Any]) -> Any:
    """Return a Java object that implements ``interface`` by these functions, of which overloads share one."""
    called = {name: for_java(method) for name, method in methods.items()}
    return jpype().JProxy(java_class(interface), dict=called)


@contextmanager
def _same_errors() -> Iterator[None]:
    """Raise the runtime's own error where Java code has let its exception through."""
    try:
        yield
    except jpype().JException as raised:
        thrown, error = getattr(_thrown, "pair", (None, None))
        if error is not None and raised.equals(thrown):
            raise error from None
        raise
    finally:
        _thrown.pair = None, None
