# SPDX-License-Identifier: Apache-2.0
"""What is said of a failed frame job, and whether it is worth another try. Java's errors are played."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException, NumberFormatException, ParseException, PythonException

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.spark.channel.messages import FrameFault
from headrace.spark.errors.frame_errors import fault_of


class JavaError:
    """A Throwable, as py4j shows it."""

    def __init__(self, name: str, message: str, cause: JavaError | None = None, state: str | None = None) -> None:
        self._class, self._message, self._cause = SimpleNamespace(getName=lambda: name), message, cause
        if state is not None:
            self.getSQLState = lambda: state

    def getClass(self) -> Any:
        return self._class

    def getMessage(self) -> str:
        return self._message

    def getCause(self) -> JavaError | None:
        return self._cause


class OfJava(Exception):
    def __init__(self, origin: JavaError) -> None:
        super().__init__(origin.getMessage())
        self._origin = origin


def aborted(cause: JavaError) -> OfJava:
    message = "Job aborted due to stage failure: Task 0\n\tat org.apache.spark.X\nDriver stacktrace:"
    return OfJava(JavaError("org.apache.spark.SparkException", message, cause))


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (RetriableError("x"), FrameFault.RETRIABLE),
        (ConfigError("x"), FrameFault.CONFIG),
        (DataError("x"), FrameFault.DATA),
        (ConnectError("x"), FrameFault.DATA),
        (AnalysisException("x"), FrameFault.CONFIG),
        (ParseException("x"), FrameFault.CONFIG),
        (NumberFormatException("x"), FrameFault.DATA),
        (ConnectionResetError("x"), FrameFault.RETRIABLE),
        (Exception("Job aborted: ExecutorLostFailure (executor 1 exited)"), FrameFault.RETRIABLE),
        (Exception("Python worker exited unexpectedly (crashed)"), FrameFault.RETRIABLE),
        (Exception("A shuffle map stage with indeterminate output was failed and retried."), FrameFault.RETRIABLE),
        (aborted(JavaError("java.net.ConnectException", "Connection refused")), FrameFault.RETRIABLE),
        (aborted(JavaError("org.postgresql.util.PSQLException", "closed", state="08006")), FrameFault.RETRIABLE),
        (aborted(JavaError("org.postgresql.util.PSQLException", "no such table", state="42P01")), FrameFault.DATA),
        (aborted(JavaError("java.nio.file.FileSystemException", "x: No space left on device")), FrameFault.RETRIABLE),
        (OSError(28, "No space left on device"), FrameFault.RETRIABLE),
        (aborted(JavaError("java.io.FileNotFoundException", "no such file")), FrameFault.DATA),
        (aborted(JavaError("org.apache.spark.SparkArithmeticException", "[DIVIDE_BY_ZERO]")), FrameFault.DATA),
        (ZeroDivisionError("in a user's function"), FrameFault.DATA),
    ],
)
def test_whose_fault_it_is(error: Exception, fault: FrameFault) -> None:
    assert fault_of(error)[0] is fault


def test_sparks_message_is_reported_without_its_plan() -> None:
    error = AnalysisException(
        "[UNRESOLVED_COLUMN] no column `x`. SQLSTATE: 42703; line 1 pos 7;\n'Project ['x]\n+- Range"
    )
    assert fault_of(error)[1] == "[UNRESOLVED_COLUMN] no column `x`. SQLSTATE: 42703; line 1 pos 7"


def test_where_a_query_does_not_parse_is_reported() -> None:
    text = "\n[PARSE_SYNTAX_ERROR] at or near 'FORM'. (line 1, pos 9)\n\n== SQL ==\nSELECT * FORM r\n---------^^^\n"
    assert fault_of(ParseException(text))[1] == text.strip()


def test_the_innermost_java_error_is_reported_without_a_trace() -> None:
    error = aborted(JavaError("org.apache.spark.SparkArithmeticException", "[DIVIDE_BY_ZERO] by zero\n\tat org.x.Y"))
    assert fault_of(error) == (FrameFault.DATA, "[DIVIDE_BY_ZERO] by zero")


def test_of_a_python_trace_the_last_error_is_reported() -> None:
    trace = 'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: stumbled over 1\n'
    assert fault_of(PythonException(trace)) == (FrameFault.DATA, "ValueError: stumbled over 1")
