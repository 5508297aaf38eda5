# SPDX-License-Identifier: Apache-2.0
"""Sink records as Arrow tables with the columns that `ColumnarSinkTask.put_table` takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from headrace.api import arrow
from headrace.api.arrow_columns import column_of
from headrace.api.record import SinkRecord
from headrace.api.schema import Schema
from headrace.api.sink import TopicPartition


def record_tables(records: Iterable[SinkRecord]) -> list[tuple[TopicPartition, pa.Table]]:
    """Tables of one partition and one type each, in the order of its offsets. DataError for what Arrow cannot hold.

    Values of a Connect schema are of the Arrow type that goes with it, those without one are JSON. Topic, partition and
    offset are those that the records were consumed from.
    """
    parts: dict[TopicPartition, list[_Run]] = {}
    for record in records:
        where = TopicPartition(record.original_topic, record.original_kafka_partition or 0)
        runs = parts.setdefault(where, [_Run()])
        if not runs[-1].take(record):
            runs.append(_Run())
            runs[-1].take(record)
    return [(where, _table(run.records)) for where, runs in parts.items() for run in runs]


class _Run:
    """Records whose keys are of one schema, and whose values are. Nulls go with everything."""

    def __init__(self) -> None:
        self.records: list[SinkRecord] = []
        self._schemas: dict[str, Schema | None] = {}

    def take(self, record: SinkRecord) -> bool:
        """Whether the record fits, and is one of them now."""
        schemas = {}
        if record.key is not None:
            schemas[arrow.KEY] = record.key_schema
        if record.value is not None:
            schemas[arrow.VALUE] = record.value_schema
        if any(self._schemas.get(name, schema) != schema for name, schema in schemas.items()):
            return False
        self._schemas |= schemas
        self.records.append(record)
        return True


def _table(records: Sequence[SinkRecord]) -> pa.Table:
    return pa.table(
        {
            arrow.VALUE: _column([(r.value_schema, r.value) for r in records], arrow.VALUE),
            arrow.KEY: _column([(r.key_schema, r.key) for r in records], arrow.KEY),
            arrow.TOPIC: pa.array([r.original_topic for r in records], pa.string()),
            arrow.PARTITION: pa.array([r.original_kafka_partition for r in records], pa.int32()),
            arrow.OFFSET: pa.array([r.original_kafka_offset for r in records], pa.int64()),
            arrow.TIMESTAMP: pa.array([r.timestamp for r in records], pa.int64()),
        }
    )


def _column(data: Sequence[tuple[Schema | None, Any]], name: str) -> pa.Array:
    found = [schema for schema, value in data if value is not None]
    if not found:
        return pa.nulls(len(data))
    return column_of(found[0], [value for _, value in data], name)
