# SPDX-License-Identifier: Apache-2.0
"""The screen of `headrace top`: a line about the cluster, and a table that fits the terminal. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.cli.ctl.fitting_table import Column, fitting_table
from headrace.cli.ctl.output import cell
from headrace.cli.ctl.statuses import NONE, age_text, bytes_text, count_text, lag_text, rate_text
from headrace.cli.ctl.top_rows import Row, Totals

if TYPE_CHECKING:
    from rich.console import RenderableType


def _tasks(row: Row) -> str:
    if row.running is None:
        return ""
    text = f"{row.running[0]}/{row.running[1]}"
    return f"{text}, {row.failed} failed" if row.failed else text


COLUMNS: Final[tuple[Column[Row], ...]] = (
    Column("NAME", 0, lambda row: row.name),
    Column("STATE", 1, lambda row: row.state or NONE),
    Column("HEALTH", 2, lambda row: row.verdict or NONE),
    Column("TASKS", 5, _tasks),
    Column("RECORDS/S", 3, lambda row: rate_text(row.records), is_number=True),
    Column("BYTES/S", 8, lambda row: bytes_text(row.bytes), is_number=True),
    Column("LAG", 4, lambda row: lag_text(row.lag, row.lag_unit), is_number=True),
    Column("ERRORS", 6, lambda row: count_text(row.errors), is_number=True),
    Column("RETRIES", 9, lambda row: count_text(row.retries), is_number=True),
    Column("RESTARTS", 10, lambda row: count_text(row.restarts), is_number=True),
    Column("COMMIT", 7, lambda row: age_text(row.commit), is_number=True),
    Column("STAGE", 11, lambda row: row.stage or NONE),
    Column("WORKER", 12, lambda row: row.worker or NONE),
)


@dataclass(frozen=True, slots=True)
class Screen:
    """The content: the Kafka cluster, the time of day, sums of all connectors, the rows that are wanted."""

    cluster: str
    time: str
    totals: Totals
    rows: Sequence[Row]
    trouble: str | None = None
    """The reason why there is no newer answer."""


def headline(screen: Screen) -> str:
    """Return the sums in a line."""
    sums = screen.totals
    failed = f", {sums.failed} failed" if sums.failed else ""
    parts = [
        screen.time,
        f"cluster {screen.cluster}",
        f"workers {sums.workers}",
        f"connectors {sums.connectors}",
        f"tasks {sums.running}/{sums.tasks} running{failed}",
    ]
    if sums.records is not None:
        parts.append(f"records/s {rate_text(sums.records)}")
    if sums.bytes is not None:
        parts.append(f"bytes/s {bytes_text(sums.bytes)}")
    return "  ".join(parts)


def render(screen: Screen, width: int, height: int | None = None) -> RenderableType:
    """Return the screen for a terminal of ``width`` columns, and of ``height`` lines if that is a limit."""
    from rich.console import Group
    from rich.text import Text

    above = [headline(screen), screen.trouble or ""]
    # Beside them, the table's headings and the line about more rows; the terminal's last line stays free.
    used = sum(max(1, len(textwrap.wrap(line, width))) for line in above) + 3
    room = len(screen.rows) if height is None else max(1, height - used)
    shown = screen.rows[:room]
    second = Text("") if screen.trouble is None else cell(screen.trouble, "red")
    lines: list[RenderableType] = [Text(headline(screen), style="bold"), second, fitting_table(COLUMNS, shown, width)]
    if len(shown) < len(screen.rows):
        lines.append(Text(f"… and {len(screen.rows) - len(shown)} more lines"))
    return Group(*lines)
