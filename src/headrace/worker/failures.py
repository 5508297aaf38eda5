# SPDX-License-Identifier: Apache-2.0
"""How a failure is told to users."""

from __future__ import annotations

from headrace.api.error_text import error_line, error_text, error_trace
from headrace.api.errors import ConfigError, ConnectError


class PluginExitError(ConnectError):
    """Code of a plugin raised what is no ``Exception``: SystemExit, KeyboardInterrupt or another one of its kind."""


def trace_of(error: BaseException) -> str:
    """What a FAILED status shows: the stack trace, or the message alone where the user's configuration is at fault."""
    if isinstance(error, ConfigError):
        return error_text(error)
    return error_trace(error)


def contained(error: BaseException) -> Exception:
    """The error itself; a PluginExitError in place of one that would end each thread and event loop it is raised in."""
    if isinstance(error, Exception):
        return error
    told = PluginExitError(f"code of a plugin has raised {error_line(error)}")
    told.__cause__ = error
    return told
