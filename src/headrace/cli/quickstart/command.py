# SPDX-License-Identifier: Apache-2.0
"""`headrace quickstart`: from nothing to rows in Parquet files, exactly once, in a minute."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final

import typer

from headrace.cli.console import EXIT_FAILED, LogLevel, configure_logging, one_line_errors

if TYPE_CHECKING:
    from headrace.cli.quickstart.connector_pair import ConnectorPair
    from headrace.cli.quickstart.run import Limits
    from headrace.cli.quickstart.run_directory import RunDirectory
    from headrace.cli.quickstart.services import Services

_REPEATED_S: Final = 1.0
"""Seconds within which another signal is the same one: `timeout` sends SIGTERM to its child and to its group."""
_EXIT: Final = 128


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

    from headrace.cli.quickstart.comparison import ParquetRows
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


class Interruption:
    """Raises KeyboardInterrupt on the main thread, for which it is, when a signal comes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, end: Callable[[int], None] = os._exit) -> None:
        self._clock = clock
        self._end = end
        self._at: float | None = None
        self._stopping = False
        self._number = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """The exit code of a process that the latest signal has ended."""
        return _EXIT + self._number

    def install(self) -> None:
        """Handle the signals from now on."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.on_signal)

    def stop(self) -> None:
        """Note that everything is being stopped: the next signal ends this process, and the system its children."""
        self._stopping = True

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Take a signal in."""
        now = self._clock()
        if self._at is not None and now - self._at < _REPEATED_S:
            return
        self._at, self._number = now, signal.Signals(number)
        if self._stopping:
            os.write(2, b"Forced to end\n")
            self._end(self.exit_code)
        else:
            raise KeyboardInterrupt
