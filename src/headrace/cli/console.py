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
from headrace.logs.context import CONTEXT
from headrace.logs.formats import TEXT, formatter
from headrace.logs.records import escaped
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


def configure_logging(level: LogLevel) -> None:
    """Log to standard error: headrace from `level` on, libraries only warnings.

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


def fail(error: BaseException) -> NoReturn:
    """Print the error in one line on standard error, and exit with its code."""
    text = escaped(" ".join(error_text(error).split())) or type(error).__name__
    typer.echo(f"Error: {text}", err=True)
    raise typer.Exit(EXIT_MISCONFIGURED if isinstance(error, ConfigError) else EXIT_FAILED)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End a command without a stack trace on errors that the user can fix."""
    try:
        yield
    except ConnectError as error:
        fail(error)
