# SPDX-License-Identifier: Apache-2.0
"""Java's exceptions as headrace's errors: with Java's message, and the stack trace as Java prints it.

Java's trace is that of the error wherever one is shown: in a FAILED status, in a dead letter, in the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from headrace.api.error_text import clean_text, set_trace
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError, SchemaBuilderError
from headrace.jvm.java_runtime import SUPPORTED_MAJORS

_CONNECT: Final = "org.apache.kafka.connect.errors"
_ERRORS: Final[Mapping[str, type[ConnectError]]] = {  # the first that fits, so subclasses precede
    f"{_CONNECT}.RetriableException": RetriableError,
    f"{_CONNECT}.SchemaBuilderException": SchemaBuilderError,
    f"{_CONNECT}.DataException": DataError,
    "org.apache.kafka.common.errors.SerializationException": DataError,
    "org.apache.kafka.common.config.ConfigException": ConfigError,
    "java.lang.ClassNotFoundException": ConfigError,
    "java.lang.UnsupportedClassVersionError": ConfigError,
}
_CLIENTS_RETRIABLE: Final = "org.apache.kafka.common.errors.RetriableException"
_MISSING: Final = "The plugin's jars lack that class: add the jar that has it to the plugin's directory"
_HINTS: Final[Mapping[str, str]] = {
    "java.lang.OutOfMemoryError": "Give the JVM more memory (-Xmx), or the plugin smaller batches",
    "java.lang.ClassNotFoundException": _MISSING,
    "java.lang.NoClassDefFoundError": _MISSING,
    "java.lang.ClassFormatError": "The plugin's jar is broken: install it again",
    "java.lang.NoSuchMethodError": "The plugin's directory has jars whose versions do not fit together",
}
_NEWER: Final = "java.lang.UnsupportedClassVersionError"
_CLASS_FILE: Final = re.compile(r"class file version (\d+)")
_CLASS_FILE_OF_JAVA_0: Final = 44
"""The version of a class file is this more than that of its Java."""
_LONGEST_LINE: Final = 2000
"""Characters of an exception's message in a status; the trace has more of it."""
_DEEPEST: Final = 50
"""Causes of an exception that are looked at: a chain may be a circle."""


@contextmanager
def java_errors(doing: str | None = None, *, clients_too: bool = False) -> Iterator[None]:
    """Raise headrace's error in place of a Java exception; `doing` precedes its message.

    `clients_too`: retriable errors of Kafka's clients are retriable as well, as in Java for a source's `poll`.
    """
    import jpype

    try:
        yield
    except jpype.JException as error:
        raise python_error(error, doing, clients_too=clients_too) from None


def python_error(error: Any, doing: str | None = None, *, clients_too: bool = False) -> ConnectError:
    """Return headrace's error for a Java exception."""
    kind, hint = _kind(error, clients_too), _hint(error)
    # A mistake in a configuration is shown without Java's class, if it says what it is.
    message = error.getMessage() if kind is ConfigError and hint is None else None
    line = clean_text(str(message if message is not None else error.toString()), _LONGEST_LINE)
    if hint is not None:
        line = f"{line.removesuffix('.')}. {hint}"
    made = kind(line if doing is None else f"{doing}: {line}")
    set_trace(made, java_trace(error))
    return made


def java_trace(error: Any) -> str:
    """Return the stack trace of a Java exception with its causes, as Java prints it."""
    return str(error.stacktrace()).rstrip()


def _kind(error: Any, clients_too: bool) -> type[ConnectError]:
    if clients_too and _is_a(error, _CLIENTS_RETRIABLE):
        return RetriableError
    return next((ours for name, ours in _ERRORS.items() if _is_a(error, name)), ConnectError)


def _is_a(error: Any, name: str) -> bool:
    import jpype

    return isinstance(error, jpype.JClass(name))


def _hint(error: Any) -> str | None:
    for _ in range(_DEEPEST):
        if error is None:
            return None
        name = str(error.getClass().getName())
        if hint := _newer(str(error.getMessage())) if name == _NEWER else _HINTS.get(name):
            return hint
        error = error.getCause()
    return None


def _newer(message: str) -> str | None:
    found = _CLASS_FILE.search(message)
    if found is None:
        return None
    needed, newest = int(found[1]) - _CLASS_FILE_OF_JAVA_0, max(SUPPORTED_MAJORS)
    if needed <= newest:
        return f"The plugin needs Java {needed}: set JAVA_HOME to that of Java {newest}"
    return f"The plugin needs Java {needed}, and headrace runs on Java {newest} at most: install an older version of it"
