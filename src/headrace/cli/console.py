# SPDX-License-Identifier: Apache-2.0
"""The terminal output of commands: log lines on standard error, and users' mistakes in one line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final, NoReturn

import typer

from headrace.api.error_text import error_text
from headrace.api.errors import ConfigError, ConnectError
from headrace.jvm.java_runtime import NoJavaError
from headrace.logs.audit import AUDIT
from headrace.logs.context import CONTEXT
from headrace.logs.formats import TEXT, escaped, formatter
from headrace.logs.log_ring import LogRing
from headrace.plugins.log_hiding import LOG_FILTER

EXIT_FAILED: Final = 1
EXIT_MISCONFIGURED: Final = 2


class LogLevel(str, Enum):
    """The values of ``--log-level``."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"

    def __str__(self) -> str:
        return self.value


def examples(*commands: str) -> str:
    """Return the end of a command's help page; each example is to fit a line of 80 columns."""
    return "\n\n".join(("Examples:", *(f"  {each}" for each in commands)))


def configure_logging(level: LogLevel) -> None:
    """Log to standard error: headrace from `level` on, its audit at any level, libraries only warnings.

    What a connector or task logs shows which ("[connector|task-0] ") before the message. Values that config providers
    hand out are not shown.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(TEXT))
    handler.addFilter(CONTEXT)
    handler.addFilter(LOG_FILTER)
    handler.addFilter(_is_not_of_py4js_gateway)
    root = logging.getLogger()
    for installed in root.handlers[:]:
        root.removeHandler(installed)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("headrace").setLevel(level.value)
    logging.getLogger(AUDIT).setLevel(logging.INFO)
    # Their errors are reported in messages of headrace's own.
    for library in ("kafka", "py4j", "asyncio"):
        logging.getLogger(library).setLevel(logging.CRITICAL)


def _is_not_of_py4js_gateway(record: logging.LogRecord) -> bool:
    """Return False for the stack trace that py4j logs as the root logger where a JVM has ended; its call raises too."""
    return not (record.name == "root" and record.module == "java_gateway")


def use_log_format(name: str) -> None:
    """Switch the log lines to the format of the worker's property ``log.format``."""
    for handler in logging.getLogger().handlers:
        if CONTEXT in handler.filters:
            handler.setFormatter(formatter(name))


def keep_log_lines(max_bytes: int) -> LogRing:
    """Return a ring that keeps from now on what is logged, so many bytes of it."""
    ring = LogRing(max_bytes)
    root = logging.getLogger()
    for printing in root.handlers:
        if CONTEXT in printing.filters:
            ring.filters = list(printing.filters)
    root.addHandler(ring)
    return ring


def fail(error: BaseException) -> NoReturn:
    """Print the error, and exit with its code."""
    print_error(error)
    raise typer.Exit(EXIT_MISCONFIGURED if isinstance(error, ConfigError) else EXIT_FAILED)


def print_error(error: BaseException) -> None:
    """Print the error in one line on standard error; what to do about a missing Java has a line of its own."""
    if isinstance(error, NoJavaError):
        typer.echo(f"Error: {_one_line(error.reason)}\n{error.remedy}", err=True)
    else:
        typer.echo(f"Error: {_one_line(error_text(error)) or type(error).__name__}", err=True)


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()))


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End a command without a stack trace on errors that the user can fix."""
    try:
        yield
    except ConnectError as error:
        fail(error)
