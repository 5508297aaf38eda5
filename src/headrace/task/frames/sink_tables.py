# SPDX-License-Identifier: Apache-2.0
"""Converts consumed records to the Arrow tables that frame jobs read, and the results of frame jobs to records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Final

import pyarrow as pa

from headrace.api import arrow
from headrace.api.arrow_columns import runs_of_one_type
from headrace.api.arrow_records import table_to_records
from headrace.api.errors import DataError
from headrace.api.headers import Headers
from headrace.api.record import SinkRecord, SourceRecord
from headrace.api.record_frames import OFFSETS
from headrace.task.frames.frame_step import FrameInput
from headrace.task.frames.record_tables import RecordTables, records_of_result, topics_of
from headrace.task.record_converter import Polled

_POSITION: Final = itemgetter(0)


class SinkTables:
    """``Tables`` of a sink.

    A table has records of one topic only, as they were consumed, so that partition and offset identify a record.
    """

    settings: Mapping[str, str] = {OFFSETS: "true"}

    def __init__(self) -> None:
        self._tables: dict[str, RecordTables] = {}

    def inputs(self, batch: Sequence[SinkRecord]) -> list[FrameInput[Sequence[SinkRecord]]]:
        """Return the inputs topic by topic, each in order, cut where the schemas of records change. DataError."""
        by_topic: dict[str, list[SinkRecord]] = {}
        for record in batch:
            by_topic.setdefault(record.original_topic, []).append(record)
        return [self._input(topic, run) for topic, records in by_topic.items() for run in runs_of_one_type(records)]

    def _input(self, topic: str, run: Sequence[SinkRecord]) -> FrameInput[Sequence[SinkRecord]]:
        table, in_json = self._tables.setdefault(topic, RecordTables()).table(run)
        partitions = pa.array([record.original_kafka_partition for record in run], pa.int32())
        table = table.set_column(table.column_names.index(arrow.PARTITION), arrow.PARTITION, partitions)
        offsets = pa.array([record.original_kafka_offset for record in run], pa.int64())
        return FrameInput(table.append_column(arrow.OFFSET, offsets), in_json, partial(_records_of_result, run=run))


def _records_of_result(result: pa.Table, run: Sequence[SinkRecord]) -> Sequence[SinkRecord]:
    """Return each row as a record with the origin that it names, in the order of the offsets of each partition.

    Sinks rely on Kafka's order, whatever the query's: the last offset stands for all records before it. DataError for
    a row that names no origin.
    """
    if not result.num_rows:
        return ()
    partitions, offsets = (result.column(name).to_pylist() for name in (arrow.PARTITION, arrow.OFFSET))
    rows = _rows(records_of_result(result.drop_columns([arrow.OFFSET]), topics_of(run)))
    origins = {(record.original_kafka_partition, record.original_kafka_offset): record for record in reversed(run)}
    positioned = []
    for position, row in zip(zip(partitions, offsets, strict=True), rows, strict=True):
        origin = origins.get(position)
        if origin is None:
            raise DataError(
                f"The result has a row with partition {_shown(position[0])} and offset {_shown(position[1])}, which is "
                f"none of the batch's records: a row has to keep those of a record that it was made of"
            )
        positioned.append((position, _record(origin, row)))
    # A stable sort: rows of one record stay in the query's order.
    return [record for _, record in sorted(positioned, key=_POSITION)]


def _rows(polled: Polled) -> Sequence[SourceRecord]:
    return polled if isinstance(polled, Sequence) else table_to_records(polled)


def _record(origin: SinkRecord, row: SourceRecord) -> SinkRecord:
    headers = row.headers if row.has_headers else Headers()
    partition = origin.original_kafka_partition
    return origin.new_record(
        row.topic, partition, row.key_schema, row.key, row.value_schema, row.value, row.timestamp, headers
    )


def _shown(number: int | None) -> str:
    return "null" if number is None else str(number)
