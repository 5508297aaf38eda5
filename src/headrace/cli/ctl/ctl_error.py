# SPDX-License-Identifier: Apache-2.0
"""Errors of commands for operators, with their exit codes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import IntEnum

from headrace.api.errors import ConnectError


class ExitCode(IntEnum):
    """The exit codes of commands for operators; documented in docs/guide/command-line.md."""

    ERROR = 1
    DIFFERENT = 1
    """Of `headrace offsets diff`: offsets differ, as of diff."""
    NOT_REACHED = 2
    """A connector has FAILED, or the wanted state was not reached in time."""
    INVALID_ARGUMENT = 2
    """Of an option or argument that does not exist as well."""
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


class ArgumentError(CtlError):
    """The user's mistake in an option or an argument, or in several that do not go together."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message, ExitCode.INVALID_ARGUMENT, remedy)


class UnavailableError(CtlError):
    """The worker cannot answer now: the same request may succeed later."""


def near_name(name: str, known: Iterable[str]) -> str | None:
    """Return a remedy for a name that is not ``known``: the one that is the most like it; None if none is."""
    near = difflib.get_close_matches(name, known, 1)
    return f"Did you mean '{near[0]}'?" if near and near[0] != name else None
