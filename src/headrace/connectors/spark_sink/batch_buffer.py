# SPDX-License-Identifier: Apache-2.0
"""The buffer of a sink task, and the limits at which its records become a batch. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from headrace.api import arrow
from headrace.api.errors import DataError
from headrace.api.sink import TopicPartition


@dataclass(frozen=True, slots=True)
class Rotation:
    """Limits of a partition's batch: ``records``, and ``seconds`` since the arrival of its first record.

    ``bytes`` limits all partitions together; the largest are written first.
    """

    records: int
    seconds: float
    bytes: int


@dataclass(slots=True)
class Run:
    """Consecutive records of one partition with columns of the same types."""

    where: TopicPartition
    since: float
    types: tuple[pa.DataType, ...] = ()
    tables: list[pa.Table] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0

    @property
    def first(self) -> int:
        """The offset of the first record."""
        return int(self.tables[0].column(arrow.OFFSET)[0].as_py())

    @property
    def last(self) -> int:
        """The offset of the last record."""
        return int(self.tables[-1].column(arrow.OFFSET)[-1].as_py())

    @property
    def table(self) -> pa.Table:
        return pa.concat_tables(self.tables, promote_options="default")

    def take(self, table: pa.Table) -> bool:
        """Append a table if its types fit; return True if they do."""
        if self.tables and self.tables[0].column_names != table.column_names:
            return False
        pairs = zip(self.types or table.schema.types, table.schema.types, strict=True)
        if not all(one == other or pa.types.is_null(one) or pa.types.is_null(other) for one, other in pairs):
            return False
        pairs = zip(self.types or table.schema.types, table.schema.types, strict=True)
        # A column of nulls alone fits every type, but the following types have to fit each other.
        self.types = tuple(other if pa.types.is_null(one) else one for one, other in pairs)
        self.tables.append(table)
        self.rows += table.num_rows
        self.bytes += table.nbytes
        return True


class BatchBuffer:
    """Tables by partition, in the order of their offsets. A table has at least the column ``offset``.

    Rows of one offset stay in one run, whatever the limits.
    """

    def __init__(self, rotation: Rotation, clock: Callable[[], float]) -> None:
        self._rotation = rotation
        self._clock = clock
        self._runs: dict[TopicPartition, list[Run]] = {}
        self._next: dict[TopicPartition, int] = {}

    def begin(self, where: TopicPartition, next: int) -> None:
        """Begin a partition at ``next``. Records below it are written: buffered and later ones are dropped."""
        self._next[where] = max(next, self._next.get(where, 0))
        kept: list[Run] = []
        for run in self._runs.pop(where, ()):
            rest = Run(where, run.since)
            for table in run.tables:
                if (left := _from(table, next)).num_rows:
                    rest.take(left)
            if rest.rows:
                kept.append(rest)
        if kept:
            self._runs[where] = kept

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Drop partitions that this task has lost."""
        for where in partitions:
            self._runs.pop(where, None)
            self._next.pop(where, None)

    def has_seen(self, where: TopicPartition, table: pa.Table) -> bool:
        """Return True if the table begins with records that are written or buffered, in a partition that was begun."""
        return bool(table.num_rows) and table.column(arrow.OFFSET)[0].as_py() < self._next[where]

    def runs(self, where: TopicPartition) -> list[Run]:
        """Return the buffered runs of a partition, in order."""
        return list(self._runs.get(where, ()))

    def partitions(self) -> frozenset[TopicPartition]:
        """Return the partitions with buffered records."""
        return frozenset(self._runs)

    def add(self, where: TopicPartition, tables: Sequence[pa.Table]) -> None:
        """Add records of a partition that was begun, in the order of its offsets, except those buffered or written.

        Several records that a transformation has made of one come together, with the same offset. Raise DataError
        unless they are of one type: a target that had some of them would record all of them as written.
        """
        next = self._next[where]
        for table in (left for each in tables if (left := _from(each, next)).num_rows):
            runs = self._runs.setdefault(where, [])
            if not runs or not runs[-1].take(table):
                run = Run(where, self._clock())
                run.take(table)
                if runs and run.first == runs[-1].last:
                    raise DataError(
                        f"The record at offset {run.first} of {where} has become records of different schemas, which "
                        f"cannot be written at once"
                    )
                runs.append(run)
            self._next[where] = runs[-1].last + 1

    def due(self) -> list[Run]:
        """Return the runs that have to be written now, in the order of each partition's offsets."""
        now, rotation = self._clock(), self._rotation
        due = {
            id(run)
            for runs in self._runs.values()
            for run in runs
            # A run that is followed by another one is complete.
            if run is not runs[-1] or run.rows >= rotation.records or now >= run.since + rotation.seconds
        }
        rest = sorted((run for run in self._all() if id(run) not in due), key=lambda run: run.bytes)
        left = sum(run.bytes for run in self._all())
        while left > rotation.bytes and rest:
            largest = rest.pop()
            due.add(id(largest))
            left -= largest.bytes
        return [run for run in self._all() if id(run) in due]

    def written(self, run: Run) -> None:
        """Remove a run that is written, the first one of its partition."""
        runs = self._runs[run.where]
        runs.remove(run)
        if not runs:
            del self._runs[run.where]

    def seconds_left(self) -> float | None:
        """Return the seconds until a run becomes due by its age; None if nothing is buffered."""
        ends = [run.since + self._rotation.seconds for run in self._all()]
        return max(0.0, min(ends) - self._clock()) if ends else None

    def first(self, where: TopicPartition) -> int | None:
        """Return the offset of the first record that is not written yet; None if there is none."""
        runs = self._runs.get(where)
        return runs[0].first if runs else None

    def _all(self) -> list[Run]:
        return [run for runs in self._runs.values() for run in runs]


def _from(table: pa.Table, offset: int) -> pa.Table:
    """Return the table's rows from ``offset`` on."""
    offsets = table.column(arrow.OFFSET)
    if not table.num_rows or offsets[0].as_py() >= offset:
        return table
    return table.filter(pc.greater_equal(offsets, offset))
