# SPDX-License-Identifier: Apache-2.0
"""Tables that fit the terminal: the least important columns are dropped. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from headrace.cli.ctl.output import cell
from headrace.cli.ctl.statuses import NONE

if TYPE_CHECKING:
    from rich.table import Table

_Row = TypeVar("_Row")
_GAP: Final = 2
_LEAST: Final = 16


@dataclass(frozen=True, slots=True)
class Column(Generic[_Row]):
    """A column; those of the highest ``rank`` are dropped first, and the one of rank 0 never."""

    heading: str
    rank: int
    text: Callable[[_Row], str]
    is_number: bool = False


def columns_for(columns: Sequence[Column[_Row]], rows: Sequence[_Row], width: int) -> list[Column[_Row]]:
    """Return the columns that fit, without those of which nothing is known of any row."""
    chosen = [each for each in columns if not each.rank or any(each.text(row) not in (NONE, "") for row in rows)]
    while len(chosen) > 1 and _first_width(chosen, rows, width) < _least_width(chosen[0], rows, width):
        chosen.remove(max(chosen, key=lambda column: column.rank))
    return chosen


def fitting_table(columns: Sequence[Column[_Row]], rows: Sequence[_Row], width: int) -> Table:
    """Return the table of the columns that fit; a long text of the first one is cut to the room that is left."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    shown = columns_for(columns, rows, width)
    for column in shown:
        most = _first_width(shown, rows, width) if column is shown[0] else None
        justify = "right" if column.is_number else "left"
        table.add_column(column.heading, justify=justify, no_wrap=True, overflow="ellipsis", max_width=most)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(cell(column.text(row)) for column in shown))
    return table


def _first_width(columns: Sequence[Column[_Row]], rows: Sequence[_Row], width: int) -> int:
    """Return the width that the others leave for the first column."""
    return max(1, width - sum(_width(each, rows) + _GAP for each in columns[1:]))


def _least_width(column: Column[_Row], rows: Sequence[_Row], width: int) -> int:
    """Return the width to which the first column is cut rather than that another one is dropped."""
    return min(_width(column, rows), max(_LEAST, width // 3))


def _width(column: Column[_Row], rows: Sequence[_Row]) -> int:
    return max(len(column.heading), *(len(column.text(row)) for row in rows), 0)
