# SPDX-License-Identifier: Apache-2.0
"""Errors of commands for operators, with their exit codes, and the reading of files that raises them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import Any

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


def read_text(path: Path, source: str = "") -> str:
    """Return a file's text. Raise ArgumentError for one that is missing, unreadable or not in UTF-8.

    ``source``: where the file is named, if that is not on the command line.
    """
    named = f" ({source})" if source else ""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read: {error.strerror or error}{named}") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{path} is not in UTF-8{named}") from error


def read_json(path: Path) -> Any:
    """Return the JSON of a file. Raise ArgumentError for anything else."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, source: str, remedy: str | None = None) -> Any:
    """Return JSON. Raise ArgumentError, which names the ``source`` of the text, for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{source} is not JSON: {error}", remedy) from error
