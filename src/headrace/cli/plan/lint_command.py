# SPDX-License-Identifier: Apache-2.0
"""`headrace lint`: mistakes in files of connectors, found without a worker."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.console import LogLevel, configure_logging, examples
from headrace.cli.ctl.command import OutputOption, errors_in_lines
from headrace.cli.ctl.output import Output, View, show
from headrace.cli.ctl.statuses import counted
from headrace.logs.formats import escaped

if TYPE_CHECKING:
    from headrace.cli.plan.linting import Linted


def add_lint_command(app: typer.Typer) -> None:
    """Add the command to ``app``: it is no group, and needs no worker."""
    shown = ("headrace lint connectors/", "headrace lint orders.yaml --worker worker.properties -o json")
    app.command("lint", epilog=examples(*shown))(lint)


def lint(
    files: Annotated[list[Path], typer.Argument(help="Files of connectors, and directories.", show_default=False)],
    worker: Annotated[
        Path | None, typer.Option(help="The properties of the worker that they are for.", show_default=False)
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check files of connectors by the plugins that are installed here, without a worker.

    Exit code 1 if there are errors; warnings do not count.
    """
    from headrace.cli.plan.findings import has_errors
    from headrace.cli.plan.lint_worker import lint_worker
    from headrace.cli.plan.linting import lint_files

    configure_logging(LogLevel.ERROR)
    with errors_in_lines():
        linted = lint_files(files, lint_worker(worker), os.environ)
        _show(linted, output)
    raise typer.Exit(1 if has_errors(linted.findings) else 0)


def _show(linted: Linted, output: Output) -> None:
    from headrace.cli.plan.findings import Level

    if output is not Output.TABLE:
        found = {"connectors": linted.connectors, "findings": [each.data for each in linted.findings]}
        show(View(found, list(dict.fromkeys(each.file for each in linted.findings)), (), ()), output)
        return
    for finding in linted.findings:
        typer.echo(escaped(f"{finding.level.value}  {finding}"))
    errors = sum(finding.level is Level.ERROR for finding in linted.findings)
    warnings = len(linted.findings) - errors
    typer.echo(f"{counted(linted.connectors, 'connector')}, {counted(errors, 'error')}, {counted(warnings, 'warning')}")
