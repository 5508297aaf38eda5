# SPDX-License-Identifier: Apache-2.0
"""The command `headrace`. Commands import their parts when they run, so that each starts fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from headrace import __version__
from headrace.api.errors import ConfigError
from headrace.cli.broker import broker
from headrace.cli.console import LogLevel, configure_logging, examples, one_line_errors
from headrace.cli.ctl.cluster import add_cluster_command, tasks
from headrace.cli.ctl.connector_changes import connector_changes
from headrace.cli.ctl.connector_offsets import connector_offsets
from headrace.cli.ctl.connectors import connectors
from headrace.cli.ctl.context_commands import context
from headrace.cli.ctl.dead_letters import dlq
from headrace.cli.ctl.loggers import loggers
from headrace.cli.ctl.logs import add_logs_command
from headrace.cli.ctl.offset_transfer import offset_transfer
from headrace.cli.ctl.plugins import config, plugins
from headrace.cli.ctl.preview import add_preview_command
from headrace.cli.ctl.top import add_top_command
from headrace.cli.ctl.topics import topics
from headrace.cli.doctor import doctor
from headrace.cli.init import init
from headrace.cli.offsets import offsets
from headrace.cli.plan.apply_command import add_apply_command
from headrace.cli.plan.export_command import add_export_command
from headrace.cli.plan.lint_command import add_lint_command
from headrace.cli.plan.plan_command import add_plan_command
from headrace.cli.quickstart.command import quickstart
from headrace.cli.shell_completion import use_own_scripts
from headrace.cli.singer import singer

app = typer.Typer(
    name="headrace",
    help="Kafka Connect for Python, with every task's data path on Apache Spark.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
audit = typer.Typer(
    name="audit", help="The record of decisions about requests (rest.audit.file).", no_args_is_help=True
)

_SHOWN: Final = 20


def mirror(
    mirror_properties: Annotated[
        Path, typer.Argument(help="MirrorMaker's properties file.", metavar="MM2_PROPERTIES", show_default=False)
    ],
    clusters: Annotated[
        list[str] | None,
        typer.Option(help="Target clusters of this node, A,B or repeated; by default all.", show_default=False),
    ] = None,
    pair: Annotated[str | None, typer.Option(hidden=True, help="Run the worker of this pair alone.")] = None,
    log_level: Annotated[LogLevel, typer.Option(case_sensitive=False, help="How much to log.")] = LogLevel.INFO,
) -> None:
    """Run a node of MirrorMaker 2 in dedicated mode until SIGTERM or Ctrl-C.

    Each pair of clusters has a worker of its own. One that ends ends the others.
    """
    configure_logging(log_level)
    with one_line_errors():
        if pair is None:
            from headrace.cli.mirror.node import run_node

            targets = [each.strip() for text in clusters or () for each in text.split(",") if each.strip()]
            code = run_node(mirror_properties, targets, log_level)
        else:
            from headrace.cli.mirror.pair_worker import run_pair_worker

            code = run_pair_worker(mirror_properties, pair)
    raise typer.Exit(code)


def add_operator_commands(app: typer.Typer, offsets: typer.Typer) -> None:
    """Add the groups of commands to ``app``, and those on offsets to ``offsets``."""
    connectors.registered_commands += connector_changes.registered_commands
    offsets.registered_commands += connector_offsets.registered_commands + offset_transfer.registered_commands
    for group in (connectors, tasks, topics, dlq, plugins, config, loggers, context):
        app.add_typer(group)
    add_cluster_command(app)
    add_logs_command(app)
    add_plan_command(app)
    add_apply_command(app)
    add_lint_command(app)
    add_export_command(app)
    add_preview_command(app)
    add_top_command(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headrace {__version__}")
        raise typer.Exit


@app.callback()
def _headrace(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Kafka Connect for Python, with every task's data path on Apache Spark."""


@app.command(
    epilog=examples(
        "headrace distributed worker.properties",
        "headrace distributed worker.properties --log-level debug",
    )
)
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


@app.command(
    epilog=examples(
        "headrace standalone worker.properties orders.properties",
        "headrace standalone worker.properties orders.json invoices.json",
    )
)
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


app.command(epilog=examples("headrace broker", "headrace broker --port 9093 --data-dir kafka"))(broker)
app.command(epilog=examples("headrace doctor", "headrace doctor worker.properties -o json"))(doctor)
app.command(epilog=examples("headrace init", "headrace init connect --force"))(init)
app.command(epilog=examples("headrace mirror mm2.properties", "headrace mirror mm2.properties --clusters A"))(mirror)
app.command(epilog=examples("headrace quickstart", "headrace quickstart --throughput 100 --keep"))(quickstart)
app.add_typer(offsets)
app.add_typer(audit)
app.add_typer(singer)
add_operator_commands(app, offsets)
use_own_scripts()


@app.command(epilog=examples("headrace prepare", "headrace prepare --log-level info"))
def prepare(
    log_level: Annotated[LogLevel, typer.Option(case_sensitive=False, help="How much to log.")] = LogLevel.WARNING,
) -> None:
    """Make, once for an installation, what lets a worker's Spark start in half the time (half a minute)."""
    from headrace.spark.engine.class_archive_maker import make_class_archive

    configure_logging(log_level)
    with one_line_errors():
        typer.echo(make_class_archive().path)


@app.command(epilog=examples("headrace version", "headrace version | cut -d ' ' -f 2"))
def version() -> None:
    """Show the version."""
    typer.echo(f"headrace {__version__}")


@audit.callback()
def _audit_group() -> None:
    """Keep the name of the command necessary, though it is the only one."""


@audit.command(
    epilog=examples("headrace audit verify audit.jsonl", "headrace audit verify /var/log/headrace/audit.jsonl")
)
def verify(
    file: Annotated[Path, typer.Argument(help="A file of rest.audit.file.", show_default=False)],
) -> None:
    """Check that no line was changed, removed or inserted, in a file that was written with rest.audit.chain=true.

    Exit code 1 if one was, 2 if the file cannot be read.
    """
    from headrace.rest.access.audit_log import broken_lines

    with one_line_errors():
        try:
            broken = broken_lines(str(file))
        except OSError as error:
            raise ConfigError(f"{file} cannot be read: {error.strerror or error}") from error
    if broken:
        more = f" and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        typer.echo(f"{file}: the chain is broken before line {', '.join(map(str, broken[:_SHOWN]))}{more}", err=True)
        raise typer.Exit(1)
    typer.echo(f"{file}: the chain is whole")
