# SPDX-License-Identifier: Apache-2.0
"""`headrace preview`: the first records of a connector, step by step, before any is written."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.ctl.command import Session, command, connector_names
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError
from headrace.cli.ctl.output import Output, View, show_lines
from headrace.cli.ctl.preview_text import preview_lines
from headrace.cli.ctl.rest_api import path

if TYPE_CHECKING:
    from headrace.cli.plan.desired_connectors import Desired


class From(str, Enum):
    """The values of ``--from``."""

    START = "start"
    END = "end"

    def __str__(self) -> str:
        return self.value


def add_preview_command(app: typer.Typer) -> None:
    """Add the command to ``app``: it is no group."""
    examples = (
        "headrace preview -f orders.json",
        "headrace preview -f connectors.yaml --name orders",
        "headrace preview -f orders.json --records 3 --timeout 60 -o json",
        "headrace preview --connector orders",
        "headrace preview --connector orders -f changed.json",
    )
    command(app, "preview", *examples, output=True)(preview)


def preview(
    session: Session,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="YAML, JSON or properties, as for `headrace plan`.", show_default=False),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The one of several in the file.", show_default=False)] = None,
    connector: Annotated[
        str | None,
        typer.Option(help="A connector, from its committed offsets on.", autocompletion=connector_names),
    ] = None,
    records: Annotated[int, typer.Option(min=1, max=100, help="Records to show.")] = 10,
    timeout: Annotated[int, typer.Option(min=1, max=60, help="Seconds after which the preview ends.")] = 20,
    task: Annotated[int, typer.Option(min=0, help="The task's number.")] = 0,
    begin: Annotated[From, typer.Option("--from", help="Of a sink: its topics' first or last records.")] = From.START,
) -> None:
    """Show what a connector would write, step by step, without writing it. Exit code 1 if something fails."""
    found = None if file is None else _of_file(file, name)
    if connector is not None:
        where = path("connectors", connector, "preview")
    elif found is not None:
        where = path("connector-plugins", found.plugin, "config", "preview")
    else:
        raise ArgumentError("Name a file with -f, or a connector with --connector")
    session.check_headrace("headrace preview")
    from_end = str(begin is From.END).lower()
    params = {"records": records, "timeout": timeout, "task": task, "fromEnd": from_end}
    body = None if found is None else {**found.config, "name": connector or found.name}
    _show(session, session.api.send("POST", where, body, params))


def _of_file(file: Path, name: str | None) -> Desired:
    """Return the connector of a file, the one of that name if there are several. Raise ArgumentError for mistakes."""
    from headrace.cli.plan.connector_sources import read_connectors
    from headrace.cli.plan.desired_connectors import without_unset

    described = read_connectors([file], os.environ)
    if described.findings:
        raise ArgumentError("; ".join(map(str, described.findings)))
    chosen = [each for each in described.connectors if name in (None, each.name)]
    if len(chosen) != 1:
        names = ", ".join(each.name for each in described.connectors)
        raise ArgumentError(f"Name one connector of {file} with --name: {names}")
    if unset := list(without_unset(chosen)):
        raise ArgumentError("; ".join(map(str, unset)))
    if not chosen[0].plugin:
        raise ArgumentError(str(chosen[0].finding("it has no connector.class")))
    return chosen[0]


def _show(session: Session, answer: dict[str, Any]) -> None:
    if session.output is Output.TABLE:
        show_lines([(line.text, line.style) for line in preview_lines(answer)])
    else:
        session.show(View(answer, [record["outcome"] for record in answer["records"]], (), ()))
    failing = sum(record["outcome"] == "fails the task" for record in answer["records"])
    if failing or answer["error"] is not None:
        reason = f"{failing} records would fail the task" if failing else f"It ended in {answer['error']['stage']}"
        raise CtlError(f"The preview of {answer['connector']} has failures: {reason}")
