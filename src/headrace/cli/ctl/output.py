# SPDX-License-Identifier: Apache-2.0
"""The output of commands: a table for people; JSON, YAML or names for programs, with nothing else on stdout."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import typer

from headrace.logs.formats import escaped

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

_UNLIMITED: Final = 100_000
"""The width of tables that go to a file or a program: nothing is cut or wrapped."""
_COLOURS: Final = {
    "RUNNING": "green",
    "FAILED": "red",
    "UNASSIGNED": "yellow",
    "RESTARTING": "yellow",
    "PAUSED": "yellow",
    "healthy": "green",
    "degraded": "yellow",
    "stalled": "red",
    "failed": "red",
}


class Output(str, Enum):
    """The values of ``-o``."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class View:
    """An answer in each form: ``data`` is the server's, ``rows`` have text for people."""

    data: Any
    names: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def show(view: View, output: Output) -> None:
    """Print to stdout."""
    if output is Output.JSON:
        typer.echo(json.dumps(view.data, indent=2, ensure_ascii=False))
    elif output is Output.YAML:
        import yaml

        typer.echo(yaml.safe_dump(view.data, sort_keys=False, allow_unicode=True), nl=False)
    elif output is Output.NAME:
        for name in view.names:
            typer.echo(name)
    else:
        show_table(view.headings, view.rows)


def console() -> Console:
    """Return stdout as rich sees it: with the width of a terminal, or without a limit."""
    from rich.console import Console

    found = Console()
    if not found.is_terminal:
        found.width = _UNLIMITED
    return found


def show_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table to stdout, of a terminal's width; in colours if it is one. Empty headings are not shown."""
    print_lines(console(), table_of(headings, rows))


def table_of(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table. Empty headings are not shown."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(headings))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(cell, row))
    return table


def print_lines(out: Console, shown: RenderableType) -> None:
    """Print to stdout, without spaces at the ends of lines."""
    with out.capture() as captured:
        out.print(shown)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def show_lines(lines: Sequence[tuple[str, str]]) -> None:
    """Print lines of text to stdout, each with the style that it has on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for text, style in lines:
        if console.is_terminal:
            console.print(Text(escaped(text), style=style))
        else:
            typer.echo(escaped(text))


def cell(text: str, style: str | None = None) -> Text:
    """Return the text, which may come from anywhere, without a terminal's escape sequences."""
    from rich.text import Text

    return Text(escaped(text), style=_COLOURS.get(text, "") if style is None else style)
