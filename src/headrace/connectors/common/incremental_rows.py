# SPDX-License-Identifier: Apache-2.0
"""Cuts the rows of a table, ordered by its incremental columns, into batches. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.api.errors import ConnectError
from headrace.connectors.common.incremental_columns import IncrementalColumn, Kind, Position

if TYPE_CHECKING:
    Flags = npt.NDArray[np.bool_]


class IncrementalRows:
    """Rows of one query. A batch never ends between rows of one position.

    So their order does not matter, although an offset holds a position alone: they are neither lost nor doubled when
    the next query begins behind it.
    """

    def __init__(self, columns: Sequence[IncrementalColumn]) -> None:
        """Without ``columns`` the rows have no positions and can be cut anywhere."""
        self._columns = columns
        self._rows: pa.Table | None = None
        self.received = 0
        """Number of all rows that were added."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Append rows, in order."""
        self.received += batch.num_rows
        added = pa.Table.from_batches([batch])
        self._rows = added if self._rows is None else pa.concat_tables([self._rows, added])

    @property
    def waiting(self) -> int:
        return 0 if self._rows is None else self._rows.num_rows

    def take(self, wanted: int, *, complete: bool) -> pa.Table | None:
        """Return about `wanted` rows; None if there are too few yet to find the end of a position.

        `complete`: all rows of the last position have been added. Raise ConnectError if rows were not in order:
        positions would be skipped.
        """
        rows = self._rows
        if rows is None or not rows.num_rows or (rows.num_rows <= wanted and not complete):
            return None
        rows = rows.combine_chunks()
        end = _cut(self._ends(rows, complete), wanted)
        self._rows = rows.slice(end) if end else rows
        return rows.slice(0, end) if end else None

    def position(self, rows: pa.Table) -> Position:
        """Return the position of the last row."""
        return {
            column.role: column.encoded(rows.column(column.name).chunk(rows.column(column.name).num_chunks - 1), -1)
            for column in self._columns
        }

    def _ends(self, rows: pa.Table, complete: bool) -> npt.NDArray[np.int64]:
        """Return the allowed ends of a batch, as counts of rows."""
        if not self._columns:
            return np.arange(1, rows.num_rows + 1)
        same = self._compared(rows)
        ends = np.flatnonzero(~same) + 1
        return np.append(ends, rows.num_rows) if complete else ends

    def _compared(self, rows: pa.Table) -> Flags:
        """Return a flag for each row but the last: True if the next one has the same position."""
        same = np.ones(rows.num_rows - 1, dtype=bool)
        for column in self._columns:
            values = rows.column(column.name)
            before, after = values.slice(0, rows.num_rows - 1), values.slice(1)
            # Only the database knows the order of text.
            if column.kind is not Kind.TEXT and bool(np.any(same & _flags(pc.less(after, before)))):
                raise ConnectError(
                    f"Rows did not come in the order of column {column.name}, so their place cannot be remembered"
                )
            if column.kind is Kind.TEXT:
                folded = _folded(values)
                before, after = folded.slice(0, rows.num_rows - 1), folded.slice(1)
            same &= _flags(pc.equal(before, after))
        return same


def _cut(ends: npt.NDArray[np.int64], wanted: int) -> int:
    """Return the last end within ``wanted``, else the first one; 0 if there is none."""
    if not len(ends):
        return 0
    within = int(np.searchsorted(ends, wanted, side="right"))
    return int(ends[within - 1 if within else 0])


def _folded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without differences that a database may ignore: case, accents, trailing blanks.

    Rows that the database does distinguish only stay together needlessly; to separate rows that it considers equal
    would lose some of them.
    """
    return pa.chunked_array([[_without_nuances(text) for text in values.to_pylist()]], pa.string())


def _without_nuances(text: str) -> str:
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return text.casefold().rstrip()


def _flags(found: pa.ChunkedArray) -> Flags:
    flags: Flags = found.combine_chunks().to_numpy(zero_copy_only=False).astype(bool)
    return flags
