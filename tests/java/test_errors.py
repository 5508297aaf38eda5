# SPDX-License-Identifier: Apache-2.0
"""Java's exceptions as headrace's errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from headrace.api.error_text import error_trace
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError, SchemaBuilderError
from headrace.java import jvm
from headrace.java.errors import java_errors
from headrace.java.jvm import java_class

CONNECT = "org.apache.kafka.connect.errors"


def raised(error: Any, doing: str | None = None, **options: Any) -> ConnectError:
    with pytest.raises(ConnectError) as caught, java_errors(doing, **options):
        raise error
    return caught.value


@pytest.mark.parametrize(
    "name, kind, line",
    [
        (f"{CONNECT}.ConnectException", ConnectError, f"{CONNECT}.ConnectException: boom"),
        (f"{CONNECT}.RetriableException", RetriableError, f"{CONNECT}.RetriableException: boom"),
        (f"{CONNECT}.DataException", DataError, f"{CONNECT}.DataException: boom"),
        (f"{CONNECT}.SchemaBuilderException", SchemaBuilderError, f"{CONNECT}.SchemaBuilderException: boom"),
        (f"{CONNECT}.NotFoundException", ConnectError, f"{CONNECT}.NotFoundException: boom"),
        (f"{CONNECT}.AlreadyExistsException", ConnectError, f"{CONNECT}.AlreadyExistsException: boom"),
        ("org.apache.kafka.common.config.ConfigException", ConfigError, "boom"),
        (
            "org.apache.kafka.common.errors.TimeoutException",
            ConnectError,
            "org.apache.kafka.common.errors.TimeoutException: boom",
        ),
        ("java.lang.IllegalStateException", ConnectError, "java.lang.IllegalStateException: boom"),
        ("java.lang.AssertionError", ConnectError, "java.lang.AssertionError: boom"),
    ],
)
def test_types_and_messages(name: str, kind: type[ConnectError], line: str) -> None:
    error = raised(java_class(name)("boom"))
    assert (type(error), str(error)) == (kind, line)


def test_kafkas_own_retriable_errors_are_retriable_where_java_retries() -> None:
    error = java_class("org.apache.kafka.common.errors.TimeoutException")("late")
    assert type(raised(error, clients_too=True)) is RetriableError


def test_the_trace_is_javas_with_all_causes() -> None:
    cause = java_class("java.io.IOException")("disk full")
    error = raised(java_class(f"{CONNECT}.ConnectException")("cannot write", cause), "put of my-sink-0")
    assert str(error) == f"put of my-sink-0: {CONNECT}.ConnectException: cannot write"
    for trace in (error_trace(error), error_trace(pickle.loads(pickle.dumps(error)))):
        assert trace.startswith(f"{CONNECT}.ConnectException: cannot write\n")
        assert trace.endswith("\nCaused by: java.io.IOException: disk full")
        assert "Traceback" not in trace


def test_an_error_of_java_code_says_where() -> None:
    error = raised_by(lambda: java_class("java.lang.Integer").parseInt("seven"))
    assert str(error) == 'java.lang.NumberFormatException: For input string: "seven"'
    assert "\tat java.base/java.lang.Integer.parseInt(" in error_trace(error)


def raised_by(call: Any) -> ConnectError:
    with pytest.raises(ConnectError) as caught, java_errors():
        call()
    return caught.value


@pytest.mark.parametrize(
    "name, hint",
    [
        ("java.lang.OutOfMemoryError", "-Xmx"),
        ("java.lang.NoClassDefFoundError", "add the jar"),
        ("java.lang.UnsupportedClassVersionError", "needs Java 21: set JAVA_HOME to that of Java 21"),
    ],
)
def test_hints_also_of_causes(name: str, hint: str) -> None:
    cause = java_class(name)("boom (class file version 65.0)")
    assert hint in str(raised(cause))
    assert hint in str(raised(java_class(f"{CONNECT}.ConnectException")("failed", cause)))


def test_a_java_that_headrace_does_not_run_on() -> None:
    error = java_class("java.lang.UnsupportedClassVersionError")("a/B (class file version 69.0), up to 61.0")
    assert str(raised(error)).endswith(
        "The plugin needs Java 25, and headrace runs on Java 21 at most: install an older version of it"
    )


def test_pythons_own_errors_stay() -> None:
    with pytest.raises(ZeroDivisionError), java_errors("dividing"):
        1 / 0  # noqa: B018


def test_a_class_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Cannot load the Java class a\.b\.Missing: .*add the jar"):
        jvm.find_class((tmp_path / "a.jar",), "a.b.Missing")
    with pytest.raises(ConfigError, match=r"a\.b\.Missing"):
        jvm.find_class((), "a.b.Missing")
