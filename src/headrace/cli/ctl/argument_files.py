# SPDX-License-Identifier: Apache-2.0
"""Texts and JSON that the user names in options and arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headrace.cli.ctl.ctl_error import ArgumentError


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


def parse_json(text: str, source: str) -> Any:
    """Return JSON. Raise ArgumentError, which names the ``source`` of the text, for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{source} is not JSON: {error}") from error
