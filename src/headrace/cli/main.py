# SPDX-License-Identifier: Apache-2.0
"""The command `headrace`. Commands import their parts when they run, so that each starts fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace import __version__
from headrace.cli.audit import audit
from headrace.cli.broker import broker
from headrace.cli.console import LogLevel, configure_logging, one_line_errors
from headrace.cli.offsets import offsets

app = typer.Typer(
    name="headrace",
    help="Kafka Connect for Python, with every task's data path on Apache Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def distributed(
    worker_properties: Annotated[Path, typer.Argument(help="The worker's properties file.", show_default=False)],
    log_level: Annotated[LogLevel, typer.Option(case_sensitive=False, help="How much to log.")] = LogLevel.INFO,
) -> None:
    """Run a worker of a distributed cluster until SIGTERM or Ctrl-C; a second Ctrl-C ends it at once."""
    from headrace.cli.distributed import run_distributed_worker

    configure_logging(log_level)
    with one_line_errors():
        code = run_distributed_worker(worker_properties)
    raise typer.Exit(code)


@app.command()
def standalone(
    worker_properties: Annotated[Path, typer.Argument(help="The worker's properties file.", show_default=False)],
    connectors: Annotated[
        list[Path] | None,
        typer.Argument(help="A file for each connector, JSON or properties.", show_default=False),
    ] = None,
    log_level: Annotated[LogLevel, typer.Option(case_sensitive=False, help="How much to log.")] = LogLevel.INFO,
) -> None:
    """Run a worker that is alone, with its offsets in a file, until SIGTERM or Ctrl-C."""
    from headrace.cli.standalone import run_standalone_worker

    configure_logging(log_level)
    with one_line_errors():
        code = run_standalone_worker(worker_properties, connectors or [])
    raise typer.Exit(code)


app.command()(broker)
app.add_typer(offsets)
app.add_typer(audit)


@app.command()
def prepare(
    log_level: Annotated[LogLevel, typer.Option(case_sensitive=False, help="How much to log.")] = LogLevel.WARNING,
) -> None:
    """Make, once for an installation, what lets a worker's Spark start in half the time (half a minute)."""
    from headrace.spark.engine.class_archive_maker import make_class_archive

    configure_logging(log_level)
    with one_line_errors():
        typer.echo(make_class_archive().path)


@app.command()
def version() -> None:
    """Show the version."""
    typer.echo(f"headrace {__version__}")
