# SPDX-License-Identifier: Apache-2.0
"""`headrace quickstart`: from nothing to rows in Parquet files, exactly once, in a minute."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.console import EXIT_FAILED, LogLevel, configure_logging, one_line_errors

if TYPE_CHECKING:
    from headrace.cli.quickstart.connector_pair import ConnectorPair
    from headrace.cli.quickstart.run import Limits
    from headrace.cli.quickstart.run_directory import RunDirectory
    from headrace.cli.quickstart.services import Services


def quickstart(
    file: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, readable=True, show_default="generated orders", help="A text file of your own."
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="End so many seconds after the first row.", show_default="Ctrl-C")
    ] = None,
    records: Annotated[
        int | None, typer.Option(min=1, help="End when so many records are in Parquet.", show_default="Ctrl-C")
    ] = None,
    throughput: Annotated[int, typer.Option(min=1, help="Orders per second.")] = 20,
    directory: Annotated[
        Path | None,
        typer.Option(help="Where files are written, or kept ones are continued.", show_default="a temporary one"),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the topics and logs, to continue later.")] = False,
) -> None:
    """Copy generated orders over Kafka to Parquet files, exactly once, with a broker and a worker that it starts.

    Ctrl-C ends everything; the Parquet files stay.
    """
    from headrace.cli.quickstart.connector_pair import lines_to_parquet, orders_to_parquet
    from headrace.cli.quickstart.run import Limits
    from headrace.cli.quickstart.run_directory import RunDirectory

    configure_logging(LogLevel.ERROR)
    with one_line_errors():
        run_directory = RunDirectory.open(directory)
        if file is not None:
            pair = lines_to_parquet(run_directory.output("lines"), file.absolute())
        else:
            pair = orders_to_parquet(run_directory.output("orders"), throughput, records)
        code = _run(run_directory, pair, Limits(seconds, records), keep or run_directory.continues)
    raise typer.Exit(code)


def _run(directory: RunDirectory, pair: ConnectorPair, limits: Limits, keep: bool) -> int:
    """Run it, and return the exit code. The directory's data is removed unless it is to be kept, or has an error."""
    from headrace.cli.quickstart.interruption import Interruption
    from headrace.cli.quickstart.services import Services

    services = Services(directory, pair.topic)
    interruption = Interruption()
    interruption.install()
    failed = True
    try:
        code = _steps(services, directory, pair, limits, keep)
        failed = False
    except KeyboardInterrupt:
        typer.echo("Interrupted")
        code, failed = interruption.exit_code, False
    finally:
        interruption.stop()
        services.stop()
        if failed and directory.broker.exists():
            typer.echo(f"The logs are below {directory.path}", err=True)
        elif not keep:
            directory.remove_data()
    typer.echo("Broker and worker have stopped")
    return code


def _steps(
    services: Services,
    directory: RunDirectory,
    pair: ConnectorPair,
    limits: Limits,
    keep: bool,
) -> int:
    """Go through the steps and print the summary; return the exit code. KeyboardInterrupt for an early signal."""
    from rich.console import Console

    from headrace.cli.quickstart.parquet_rows import ParquetRows
    from headrace.cli.quickstart.run import Run
    from headrace.cli.quickstart.summary import lines_at_end, lines_while_running
    from headrace.cli.quickstart.view import view_for

    rows = ParquetRows(directory.output(pair.topic))
    view = view_for(Console(highlight=False))
    try:
        run = Run(services, pair, rows, view)
        run.start()
        view.say(lines_while_running(services.url, pair, rows.directory))
        with suppress(KeyboardInterrupt):
            run.copy(limits)
        comparison = run.compare()
    finally:
        view.close()
    for line in lines_at_end(comparison, pair, rows.directory, directory.path if keep else None):
        typer.echo(line)
    return 0 if comparison.exactly_once else EXIT_FAILED
