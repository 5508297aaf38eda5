# SPDX-License-Identifier: Apache-2.0
"""The output of a quickstart: lines, or on a terminal a view that is updated in place."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from headrace.cli.quickstart.observation import Observation

_LINE_EVERY_S: Final = 5.0
_COLORS: Final = {"healthy": "green", "degraded": "yellow", "stalled": "red", "failed": "red"}


class View(Protocol):
    """The output. Times are seconds since the start of the command."""

    def wait(self, what: str) -> None:
        """Show what is waited for until the next call."""

    def done(self, what: str, seconds: float) -> None:
        """Show a step that is done."""

    def count(self, seen: Observation, seconds: float) -> None:
        """Show counts and health."""

    def say(self, lines: Sequence[str]) -> None:
        """Show these lines for as long as it runs."""

    def close(self) -> None:
        """Show no more updates."""


class Lines:
    """Prints a line for each step, and every few seconds one with counts. No control characters."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._next = clock()

    def wait(self, what: str) -> None:
        pass

    def done(self, what: str, seconds: float) -> None:
        self._print(f"{seconds:6.1f} s  {what}")

    def count(self, seen: Observation, seconds: float) -> None:
        if self._clock() < self._next:
            return
        self._next = self._clock() + _LINE_EVERY_S
        counts = f"{seen.records:,} records, {seen.transactions:,} transactions, {seen.rows:,} rows in Parquet"
        health = ", ".join(f"{name} {of.verdict}" for name, of in seen.health.items())
        self._print(f"{seconds:6.1f} s  {counts}; {health}")

    def say(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._print(line)

    def close(self) -> None:
        pass

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


class LiveView:
    """A view that is updated in place."""

    def __init__(self, console: Console) -> None:
        self._done = Table.grid(padding=(0, 2))
        self._done.add_column(justify="right")
        self._done.add_column(overflow="fold")
        self._waiting: Spinner | None = None
        self._counts: RenderableType | None = None
        self._said: Text | None = None
        self._live = Live(self._all(), console=console, refresh_per_second=8)
        self._live.start()

    def wait(self, what: str) -> None:
        # A new spinner begins anew, so the same one continues with another text.
        if self._waiting is None:
            self._waiting = Spinner("dots")
        self._waiting.update(text=Text(what))
        self._live.update(self._all())

    def done(self, what: str, seconds: float) -> None:
        self._waiting = None
        self._done.add_row(Text(f"{seconds:.1f} s", "green"), Text(what))
        self._live.update(self._all())

    def count(self, seen: Observation, seconds: float) -> None:
        self._counts = counts_table(seen, seconds)
        self._live.update(self._all())

    def say(self, lines: Sequence[str]) -> None:
        self._said = Text("\n".join(lines))
        self._live.update(self._all())

    def close(self) -> None:
        self._waiting = None
        self._live.update(self._all())
        self._live.stop()

    def _all(self) -> Group:
        return Group(*(part for part in (self._done, self._counts, self._said, self._waiting) if part is not None))


def counts_table(seen: Observation, seconds: float) -> Table:
    """Return the table of counts and health."""
    table = Table(box=None, show_header=False, padding=(0, 2), title=f"{seconds:.0f} s", title_justify="left")
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column(overflow="fold")
    table.add_row("records in the topic", f"{seen.records:,}")
    table.add_row("transactions", f"{seen.transactions:,}")
    table.add_row("rows in Parquet", f"{seen.rows:,}")
    for name, health in seen.health.items():
        table.add_row(name, Text(health.verdict, _COLORS.get(health.verdict, "")), Text(health.why))
    return table


def view_for(console: Console) -> View:
    """Return the view for a console: lines if it is no terminal."""
    return LiveView(console) if console.is_terminal else Lines(console)
