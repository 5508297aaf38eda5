# SPDX-License-Identifier: Apache-2.0
"""Reads one split of a table: query after query, each behind the rows of the last one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from headrace.api.frames import Frames
from headrace.connectors.common.incremental_columns import Position, Value, position_of
from headrace.connectors.common.incremental_rows import IncrementalRows
from headrace.connectors.common.spark_config import BATCH_ROWS, POLL_INTERVAL
from headrace.connectors.spark_table.spark_table_config import (
    QUERY_ROWS,
    TIMESTAMP_DELAY,
    TIMESTAMP_ZONE,
    Split,
    TableSettings,
)
from headrace.connectors.spark_table.table_queries import Columns, TableQueries

COMPLETED: Final = "completed"
"""Field of bulk's offsets: time of the last complete read of the table, in ms since the epoch."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a split, and the offset behind them; None within bulk's read of the whole table."""

    table: pa.Table
    partition: Mapping[str, str]
    offset: Mapping[str, Any] | None


class SplitReader:
    """A reader of one split, for the task's thread only.

    `next_rows` raises the errors of `Frames`; after one, call `give_up`.
    """

    def __init__(
        self,
        frames: Frames,
        queries: TableQueries,
        settings: TableSettings,
        columns: Columns,
        split: Split,
        offset: Mapping[str, Any] | None,
    ) -> None:
        """Raise ConnectError for an offset that does not fit the mode and the columns."""
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
        """Time of the next query, by the monotonic clock."""
        if columns.incremental:
            self._position = position_of(columns.incremental, offset)
        elif offset is not None:
            passed = time.time() - float(offset.get(COMPLETED, 0)) / 1000
            # A clock that was set back since must not extend the wait beyond an interval.
            self.due = time.monotonic() + self._interval - max(passed, 0.0)

    def is_due(self, now: float) -> bool:
        return self._query is not None or now >= self.due

    def next_rows(self, stopped: Callable[[], bool]) -> TableRows | None:
        """Return the next rows; None at the end of a query, or if `stopped`."""
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
        """Cancel the running query; the next one begins behind the rows that were taken."""
        query, self._query = self._query, None
        if query is not None:
            query.close()

    def _ask(self) -> _Query:
        incremental = self._columns.incremental
        limit = self._limit if incremental else None
        job = self._queries.rows(self._columns, self._split, self._position, self._before(), self._limit)
        return _Query(self._frames.stream(job), IncrementalRows(incremental), limit)

    def _before(self) -> Value | None:
        incremental = self._columns.incremental
        if not incremental or not incremental[0].kind.is_time:
            return None
        moment = time.time_ns() // 1000 - self._parsed[TIMESTAMP_DELAY] * 1000
        return incremental[0].at(moment, ZoneInfo(self._parsed[TIMESTAMP_ZONE]))

    def _reached(self, taken: pa.Table, query: _Query) -> TableRows:
        if self._columns.incremental:
            self._position = query.rows.position(taken)
            return TableRows(taken, self._partition, self._position)
        if not query.ended or query.rows.waiting:
            return TableRows(taken, self._partition, None)
        return TableRows(taken, self._partition, {COMPLETED: time.time_ns() // 1_000_000})

    def _end(self, query: _Query, full: bool) -> None:
        """End the query. Remaining rows of a full one are read again: there may be more rows of their position."""
        stuck = full and query.rows.waiting == query.rows.received
        self._limit = self._limit * 4 if stuck else self._parsed[QUERY_ROWS]
        self.give_up()
        if not full:
            self.due = time.monotonic() + self._interval


class _Query:
    """A running frame job."""

    def __init__(
        self, stream: AbstractContextManager[Iterator[pa.RecordBatch]], rows: IncrementalRows, limit: int | None
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
