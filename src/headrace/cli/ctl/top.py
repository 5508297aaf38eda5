# SPDX-License-Identifier: Apache-2.0
"""`headrace top`: connectors and their health, in a table that is renewed."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

import typer

from headrace.cli.ctl import top_rows, top_screen
from headrace.cli.ctl.command import Session, command, connector_names
from headrace.cli.ctl.ctl_error import CtlError, ExitCode, UnavailableError, near_name
from headrace.cli.ctl.output import console, print_lines
from headrace.cli.ctl.statuses import NONE
from headrace.cli.ctl.top_rows import Sort
from headrace.cli.ctl.top_screen import Screen

_QUIT: Final = "q"

Patterns = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATTERN]...", help="Names, also with *.", show_default=False, autocompletion=connector_names
    ),
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows that the user wants."""

    patterns: tuple[str, ...]
    sort: Sort
    with_tasks: bool


def add_top_command(app: typer.Typer) -> None:
    """Add the command to ``app``: it is no group."""
    command(app, "top", "headrace top --sort lag", "headrace top 'orders-*' --tasks --once")(top)


def top(
    session: Session,
    patterns: Patterns = None,
    tasks: Annotated[bool, typer.Option("--tasks", help="A line for each task, too.")] = False,
    sort: Annotated[Sort, typer.Option(help="The column to sort by.")] = Sort.NAME,
    interval: Annotated[float, typer.Option(help="Seconds between two requests.", min=0.5)] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print the table once, and end.")] = False,
) -> None:
    """Show connectors with states, health, rates and lag, until q or Ctrl-C.

    Once, if the output is not a terminal. Rates, lag and health are known of headrace's workers only.
    """
    wanted = Wanted(tuple(patterns or ()), sort, tasks)
    cluster = session.api.get("/").get("kafka_cluster_id") or NONE
    first = _read(session, cluster, wanted)
    if patterns and not first.rows and not any("*" in pattern for pattern in patterns):
        remedy = near_name(patterns[0], session.api.get("/connectors"))
        raise CtlError(f"No connector is named {' or '.join(patterns)}", ExitCode.NOT_FOUND, remedy)
    out = console()
    if once or not out.is_terminal:
        print_lines(out, top_screen.render(first, out.width))
        return
    with suppress(KeyboardInterrupt):
        _show_live(first, lambda: _read(session, cluster, wanted), interval)


def _read(session: Session, cluster: str, wanted: Wanted) -> Screen:
    answer = session.api.get("/connectors", expand=["status", "health"])
    chosen = top_rows.arranged(top_rows.rows(answer, wanted.patterns), wanted.sort, with_tasks=wanted.with_tasks)
    sums = top_rows.totals(top_rows.rows(answer))
    return Screen(cluster, datetime.now().strftime("%H:%M:%S"), sums, chosen)


def _show_live(screen: Screen, read: Callable[[], Screen], interval: float) -> None:
    from dataclasses import replace

    from rich.live import Live

    out = console()
    with _keys() as pressed, Live(console=out, screen=True, auto_refresh=False) as live:
        while True:
            live.update(top_screen.render(screen, out.width, out.height), refresh=True)
            if pressed(interval) == _QUIT:
                return
            try:
                screen = read()
            except UnavailableError as error:  # it may answer again
                screen = replace(screen, trouble=str(error))


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Make keys readable without Enter; yield a function that waits for one, and returns "" after so many seconds."""
    if not sys.stdin.isatty():
        yield _sleep
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield _key_within
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _key_within(seconds: float) -> str:
    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    return sys.stdin.read(1) if readable else ""


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return ""
