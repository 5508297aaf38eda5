# SPDX-License-Identifier: Apache-2.0
"""Errors in the form in which users and callers get them."""

from __future__ import annotations

from headrace.api.error_text import error_line, error_text, error_trace
from headrace.api.errors import ConfigError, ConnectError


class PluginExitError(ConnectError):
    """Code of a plugin raised what is no ``Exception``: SystemExit, KeyboardInterrupt or another one of its kind."""


def trace_of(error: BaseException) -> str:
    """Return the trace of a FAILED status: the stack trace, or for a ConfigError the message alone."""
    if isinstance(error, ConfigError):
        return error_text(error)
    return error_trace(error)


def as_exception(error: BaseException) -> Exception:
    """Return the error itself, or a PluginExitError in place of one that would end any thread and event loop."""
    if isinstance(error, Exception):
        return error
    wrapped = PluginExitError(f"code of a plugin has raised {error_line(error)}")
    wrapped.__cause__ = error
    return wrapped
