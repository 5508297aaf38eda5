# SPDX-License-Identifier: Apache-2.0
"""The common part of both sources that read by Spark: splits, their offsets, retries, and rows as records."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from headrace.api import arrow
from headrace.api.errors import ConnectError, RetriableError

LONGEST_WAIT: Final = 0.5
"""Seconds that a poll without rows waits at most."""
SPLITS: Final = "task.splits"
"""The property of a task's configuration with its splits, as JSON."""


def split_configs(props: Mapping[str, str], splits: Sequence[Any], max_tasks: int) -> list[dict[str, str]]:
    """Return the tasks' configurations. Each split is assigned to one task, and is the same for any number of them."""
    shares = [splits[task::max_tasks] for task in range(min(max_tasks, len(splits)))]
    return [{**props, SPLITS: json.dumps(share)} for share in shares]


def check_offsets(
    offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]],
    partitions: Collection[Mapping[str, Any]],
    check: Callable[[dict[str, Any]], object],
) -> None:
    """Raise ConnectError for an offset of none of the ``partitions``, and the errors of ``check``; skip resets."""
    for partition, offset in offsets:
        if offset is None:
            continue
        if partition not in partitions:
            raise ConnectError(f"There is no source partition {partition}; there are {partitions}")
        check(offset)


class RetryTimeout:
    """A time limit that starts with the first of consecutive failures. For one thread."""

    def __init__(self, timeout_ms: int, clock: Callable[[], float]) -> None:
        """A negative `timeout_ms` is no limit; `clock` is in seconds."""
        self._timeout = timeout_ms / 1000
        self._clock = clock
        self._since: float | None = None

    def reset(self) -> None:
        """Note a success: the next failure starts the time limit again."""
        self._since = None

    def error_after(self, error: RetriableError, what: str) -> ConnectError:
        """Return the error to raise: ``error`` itself, after the time limit one that is not retriable."""
        now = self._clock()
        self._since = now if self._since is None else self._since
        if self._timeout < 0 or now - self._since < self._timeout:
            return error
        return ConnectError(
            f"Tried for {now - self._since:.0f} s (retry.timeout.ms), but {what} cannot be read: {error}"
        )


def row_table(
    rows: pa.Table,
    topic: str,
    keys: Sequence[str],
    partition: Mapping[str, Any],
    offset: Mapping[str, Any] | None,
    value: str | None = None,
) -> pa.Table:
    """Return one record for each row. `headrace.api.arrow` documents the columns.

    Values are structs of all columns, or the values of column `value`. The key is the value of one column, a struct of
    several, null for none. Without `offset` the records have no source offset.
    """
    count = rows.num_rows
    columns = {
        arrow.TOPIC: arrow.constant(topic, count, pa.string()),
        arrow.VALUE: _struct(rows, rows.column_names) if value is None else rows.column(value),
    }
    if keys:
        columns[arrow.KEY] = rows.column(keys[0]) if len(keys) == 1 else _struct(rows, keys)
    if offset is not None:
        columns[arrow.SOURCE_PARTITION] = arrow.constant(dict(partition), count, _type(partition))
        columns[arrow.SOURCE_OFFSET] = arrow.constant(dict(offset), count, _type(offset))
    return pa.table(columns)


def _struct(rows: pa.Table, names: Sequence[str]) -> pa.Array:
    whole = rows.select(names).combine_chunks()
    columns = [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns]
    return pa.StructArray.from_arrays(columns, fields=list(whole.schema))


def _type(data: Mapping[str, Any]) -> pa.DataType:
    """Return the type of a struct of text, whole numbers and booleans."""
    return pa.struct([(name, pa.scalar(value).type) for name, value in data.items()])
