# SPDX-License-Identifier: Apache-2.0
"""Errors of commands for operators, with their exit codes."""

from __future__ import annotations

from enum import IntEnum

from headrace.api.errors import ConnectError


class ExitCode(IntEnum):
    """The exit codes of commands for operators; documented in docs/guide/command-line.md."""

    ERROR = 1
    DIFFERENT = 1
    """Of `headrace offsets diff`: offsets differ, as of diff."""
    NOT_REACHED = 2
    """A connector has FAILED, or the wanted state was not reached in time. Invalid options exit with 2 as well."""
    TROUBLE = 2
    """Of `headrace offsets diff`: what is ERROR elsewhere, as of diff."""
    NOT_FOUND = 3
    NO_ANSWER = 4
    NOT_ALLOWED = 5


class CtlError(ConnectError):
    """A command failed. ``remedy`` is a second line: what the user can do."""

    def __init__(self, message: str, code: ExitCode = ExitCode.ERROR, remedy: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.remedy = remedy


class UnavailableError(CtlError):
    """The worker cannot answer now: the same request may succeed later."""
