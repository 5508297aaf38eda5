# SPDX-License-Identifier: Apache-2.0
"""Reads one split of a table: query after query, each behind the rows that the last one gave."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from headrace.api.frames import Frames
from headrace.connectors.common.growing_columns import Position, Value, position_of
from headrace.connectors.common.growing_rows import GrowingRows
from headrace.connectors.common.spark_reader import BATCH_ROWS, POLL_INTERVAL
from headrace.connectors.spark_table.spark_table_config import (
    QUERY_ROWS,
    TIMESTAMP_DELAY,
    TIMESTAMP_ZONE,
    Split,
    TableSettings,
)
from headrace.connectors.spark_table.table_queries import Columns, TableQueries

COMPLETED: Final = "completed"
"""Field of bulk's offsets: when the table was last read as a whole, in ms since the epoch."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a split, and the offset that is reached with them; None within bulk's reading of the whole table."""

    table: pa.Table
    partition: Mapping[str, str]
    offset: Mapping[str, Any] | None


class SplitReader:
    """Task's thread only. What `next_rows` raises is what `Frames` raises; go on with `give_up` then."""

    def __init__(
        self,
        frames: Frames,
        queries: TableQueries,
        settings: TableSettings,
        columns: Columns,
        split: Split,
        offset: Mapping[str, Any] | None,
    ) -> None:
        """ConnectError for an offset that the mode and the columns do not fit."""
        self._frames = frames
        self._queries = queries
        self._parsed = settings.parsed
        self._columns = columns
        self._split = split
        self._partition = settings.source_partition(split)
        self._interval = self._parsed[POLL_INTERVAL] / 1000
        self._limit: int = self._parsed[QUERY_ROWS]
        self._query: _Query | None = None
        self._position: Position | None = None
        self.due = 0.0
        """When to ask for rows again, by the clock that only goes forward."""
        if columns.growing:
            self._position = position_of(columns.growing, offset)
        elif offset is not None:
            passed = time.time() - float(offset.get(COMPLETED, 0)) / 1000
            # A clock that was set back since must not make it wait for longer than an interval.
            self.due = time.monotonic() + self._interval - max(passed, 0.0)

    def is_due(self, now: float) -> bool:
        return self._query is not None or now >= self.due

    def next_rows(self, stopped: Callable[[], bool]) -> TableRows | None:
        """The next rows; None at the end of a query, or if `stopped`."""
        while not stopped():
            query = self._query = self._query or self._ask()
            wanted = self._parsed[BATCH_ROWS]
            full = query.limit is not None and query.rows.received >= query.limit
            taken = query.rows.take(wanted, complete=query.ended and not full)
            if taken is not None:
                return self._reached(taken, query)
            if query.ended:
                self._end(query, full)
                return None
            query.read()
        self.give_up()
        return None

    def give_up(self) -> None:
        """Forget the query that is under way; the next one begins behind the rows that were taken."""
        query, self._query = self._query, None
        if query is not None:
            query.close()

    def _ask(self) -> _Query:
        growing = self._columns.growing
        limit = self._limit if growing else None
        job = self._queries.rows(self._columns, self._split, self._position, self._before(), self._limit)
        return _Query(self._frames.stream(job), GrowingRows(growing), limit)

    def _before(self) -> Value | None:
        growing = self._columns.growing
        if not growing or not growing[0].kind.is_time:
            return None
        moment = time.time_ns() // 1000 - self._parsed[TIMESTAMP_DELAY] * 1000
        return growing[0].at(moment, ZoneInfo(self._parsed[TIMESTAMP_ZONE]))

    def _reached(self, taken: pa.Table, query: _Query) -> TableRows:
        if self._columns.growing:
            self._position = query.rows.position(taken)
            return TableRows(taken, self._partition, self._position)
        if not query.ended or query.rows.waiting:
            return TableRows(taken, self._partition, None)
        return TableRows(taken, self._partition, {COMPLETED: time.time_ns() // 1_000_000})

    def _end(self, query: _Query, full: bool) -> None:
        """Rows that are left of a full query are of a position of which there may be more: they are asked for again."""
        stuck = full and query.rows.waiting == query.rows.received
        self._limit = self._limit * 4 if stuck else self._parsed[QUERY_ROWS]
        self.give_up()
        if not full:
            self.due = time.monotonic() + self._interval


class _Query:
    """One frame job under way."""

    def __init__(
        self, stream: AbstractContextManager[Iterator[pa.RecordBatch]], rows: GrowingRows, limit: int | None
    ) -> None:
        self._stream = stream
        self._batches = stream.__enter__()
        self.rows = rows
        self.limit = limit
        self.ended = False

    def read(self) -> None:
        batch = next(self._batches, None)
        if batch is None:
            self.ended = True
        else:
            self.rows.add(batch)

    def close(self) -> None:
        self._stream.__exit__(None, None, None)
