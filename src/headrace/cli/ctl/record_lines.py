# SPDX-License-Identifier: Apache-2.0
"""Records and log lines on a terminal: a line for each, cut at its width; uncut in a file or for a program."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import typer

from headrace.logs.formats import escaped

if TYPE_CHECKING:
    from rich.console import Console


def print_record(record: dict[str, Any], as_json: bool) -> None:
    """Print a record of a worker's answer to stdout."""
    if as_json:
        typer.echo(json.dumps(record, ensure_ascii=False))
    else:
        print_line(record_line(record))


def record_line(record: dict[str, Any]) -> str:
    """Return time, partition:offset, key and value of a record, and its headers if it has some."""
    timestamp = record["timestamp"]
    parts = [
        "-" if timestamp is None else time_text(timestamp),
        f"{record['partition']}:{record['offset']}",
        part_text(record["key"]),
        part_text(record["value"]),
    ]
    if record["headers"]:
        headers = (f"{header['key']}={part_text(header['value'])}" for header in record["headers"])
        parts.append(f"[{', '.join(headers)}]")
    return "  ".join(parts)


def time_text(timestamp: int) -> str:
    """Return milliseconds since the epoch as the local time."""
    return datetime.fromtimestamp(timestamp / 1000).isoformat(" ", "milliseconds")


def part_text(part: dict[str, Any]) -> str:
    """Return a value as text; the error and the bytes of one that could not be decoded; null for a Kafka null."""
    if part["bytes"] is None and part["value"] is None:
        return "null"
    if "error" in part:
        return f"(not decoded: {part['error']}) {_bytes_text(part['bytes'])}"
    if part["value"] is None and part["schema"] is None:
        return _bytes_text(part["bytes"])
    return part["value"] if isinstance(part["value"], str) else json.dumps(part["value"], ensure_ascii=False)


def print_line(line: str) -> None:
    """Print a line to stdout, without a terminal's control sequences, cut at its width if it is a terminal."""
    from rich.text import Text

    text = escaped(line)
    console = _console()
    if console.is_terminal:
        shown = Text(text)
        shown.truncate(console.width, overflow="ellipsis")
        text = shown.plain
    typer.echo(text)


@cache
def _console() -> Console:
    from rich.console import Console

    return Console()


def _bytes_text(encoded: str | None) -> str:
    """Return bytes as Python writes them, without the quotes around them."""
    return repr(base64.b64decode(encoded or ""))[2:-1]
