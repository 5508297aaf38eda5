# SPDX-License-Identifier: Apache-2.0
"""Sink records as Arrow tables of one partition, with the columns that `ColumnarSinkTask.put_table` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.api import arrow
from headrace.api.arrow_columns import column_of, runs_of_one_type
from headrace.api.record import SinkRecord
from headrace.api.schema import Schema
from headrace.api.sink import TopicPartition


def record_tables(records: Iterable[SinkRecord]) -> list[tuple[TopicPartition, pa.Table]]:
    """Return tables of one partition and one type each, in the order of its offsets.

    Values with a Connect schema have the corresponding Arrow type, those without one are JSON. Topic, partition and
    offset are those that the records were consumed from. Records of one offset, which a transformation may have made
    of one, keep their order. Raise DataError for values that Arrow cannot hold.
    """
    parts: dict[TopicPartition, list[SinkRecord]] = {}
    for record in records:
        where = TopicPartition(record.original_topic, record.original_kafka_partition or 0)
        parts.setdefault(where, []).append(record)
    for part in parts.values():
        # A query may have returned them in any order; sorting ordered ones costs almost nothing.
        part.sort(key=_offset)
    return [(where, _table(run)) for where, part in parts.items() for run in runs_of_one_type(part)]


def tables_by_partition(table: pa.Table) -> Iterator[tuple[TopicPartition, pa.Table]]:
    """Iterate over the parts of a table of one topic, each in the order of its offsets."""
    topic = table.column(arrow.TOPIC)[0].as_py()
    partitions = table.column(arrow.PARTITION)
    found = pc.unique(partitions).to_pylist()
    for partition in found:
        part = table if len(found) == 1 else table.filter(pc.equal(partitions, partition))
        yield TopicPartition(topic, partition), _in_order(part)


def _in_order(table: pa.Table) -> pa.Table:
    """Sort by offset; rows of one offset, which a query may have made of one record, keep their order."""
    offsets = table.column(arrow.OFFSET).to_numpy()
    return table if (offsets[1:] >= offsets[:-1]).all() else table.take(np.argsort(offsets, kind="stable"))


def _offset(record: SinkRecord) -> int:
    return record.original_kafka_offset or 0


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
