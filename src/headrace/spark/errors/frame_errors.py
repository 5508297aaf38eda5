# SPDX-License-Identifier: Apache-2.0
"""Classification of frame jobs' failures, with Spark's messages, without traces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.spark.channel.messages import FrameFault
from headrace.spark.errors.error_texts import is_disk_full, text_of

ERRORS: Final[dict[FrameFault, type[ConnectError]]] = {
    FrameFault.CONFIG: ConfigError,
    FrameFault.DATA: DataError,
    FrameFault.RETRIABLE: RetriableError,
}
"""The error to raise for a fault in the process that requested the job."""
_RETRIABLE: Final = re.compile(
    r"ExecutorLostFailure|FetchFailed|Python worker (exited unexpectedly|failed to connect)|cancelled"
    r"|SparkContext (was|has been) shut ?down|executor_entry|headrace/spark/(channel/endpoint|process/frame_ends)\.py"
    # Rows in another order than before the loss of an executor, after a shuffle of which some were used already.
    r"|indeterminate (output|results|rollback)|cannot rollback"
)
_TRANSIENT: Final = re.compile(
    r"java\.(net|io)\.|java\.util\.concurrent\.Timeout|java\.sql\.SQL(Transient|Recoverable)"
)
_LASTING: Final = re.compile(r"java\.io\.(FileNotFound|Invalid|NotSerializable|UnsupportedEncoding|UTFDataFormat)")
_TRANSIENT_STATES: Final = ("08", "40", "53", "57")
"""Classes of JDBC's SQLSTATE: connection, rollback, resources, operator's intervention."""
_PYTHON_ERROR: Final = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?([A-Z]\w*(?:Error|Exception)\b.*)$", re.MULTILINE)


def fault_of(error: Exception) -> tuple[FrameFault, str]:
    """Return the fault and the message of an error that running a job raised in the worker."""
    from pyspark.errors import (
        AnalysisException,
        IllegalArgumentException,
        NumberFormatException,
        ParseException,
        PythonException,
    )

    if isinstance(error, ConnectError):
        return _fault_of_connect_error(error), str(error)
    if isinstance(error, NumberFormatException):  # an IllegalArgumentException, but of the data
        return FrameFault.DATA, spark_message(error)
    if isinstance(error, (AnalysisException, ParseException, IllegalArgumentException)):
        return FrameFault.CONFIG, spark_message(error)
    text = text_of(error)
    if _RETRIABLE.search(text):
        return FrameFault.RETRIABLE, _first_line(text)
    if isinstance(error, PythonException):
        return FrameFault.DATA, _python_message(text)
    # The Java error, where PySpark has a class for it, and where it has none.
    throwable = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    if throwable is not None:
        try:
            return _fault_of_java(throwable)
        except Exception as asking:
            return FrameFault.RETRIABLE, f"Spark's JVM could not be asked what went wrong: {type(asking).__name__}"
    if isinstance(error, OSError) and is_disk_full(text):
        return FrameFault.RETRIABLE, _first_line(text)
    if isinstance(error, (OSError, EOFError)) or type(error).__module__.startswith("py4j."):
        return FrameFault.RETRIABLE, f"Spark could not be reached: {_first_line(text)}"
    return FrameFault.DATA, f"{type(error).__name__}: {_first_line(text)}"


def known_fault(error: Exception) -> tuple[FrameFault, str]:
    """Return the fault and the message as ``fault_of``, also if the JVM of the error is dead."""
    try:
        return fault_of(error)
    except Exception:
        # The text of a Java error is requested from its JVM.
        return FrameFault.RETRIABLE, "the JVM of Spark does not answer"


def spark_message(error: Exception) -> str:
    """Return the error's message, without the plan that Spark adds."""
    text = text_of(error).strip()
    return text.split(";\n", 1)[0].strip()


def _fault_of_connect_error(error: ConnectError) -> FrameFault:
    if isinstance(error, RetriableError):
        return FrameFault.RETRIABLE
    return FrameFault.CONFIG if isinstance(error, ConfigError) else FrameFault.DATA


def _fault_of_java(error: Any) -> tuple[FrameFault, str]:
    causes = list(_causes(error))
    for cause in causes:
        name, state = cause.getClass().getName(), _sql_state(cause)
        transient = _TRANSIENT.match(name) and not _LASTING.match(name)
        if transient or is_disk_full(_message_of(cause)) or (state[:2] in _TRANSIENT_STATES and "sql" in name.lower()):
            return FrameFault.RETRIABLE, _message_of(cause)
    # The innermost cause says what happened; those around it, which of Spark's parts was at work.
    return FrameFault.DATA, _message_of(causes[-1])


def _causes(error: Any) -> Iterator[Any]:
    for _ in range(16):
        if error is None:
            return
        yield error
        error = error.getCause()


def _sql_state(error: Any) -> str:
    for getter in ("getSQLState", "getSqlState"):
        try:
            return str(getattr(error, getter)() or "")
        except Exception:
            continue
    return ""


def _message_of(error: Any) -> str:
    text = str(error.getMessage() or error.getClass().getName())
    if "PythonException" in error.getClass().getName():
        return _python_message(text)
    return text.split("\n\tat ", 1)[0].split("\nDriver stacktrace", 1)[0].strip()


def _python_message(text: str) -> str:
    """Return the last error of a Python trace."""
    found = _PYTHON_ERROR.findall(text)
    return found[-1].strip() if found else _first_line(text)


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].removeprefix(": ")
    return lines[0] if lines else "no reason was given"
