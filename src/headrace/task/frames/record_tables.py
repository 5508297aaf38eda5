# SPDX-License-Identifier: Apache-2.0
"""Converts records to the Arrow tables that frame jobs read, and the results of frame jobs to records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.api import arrow
from headrace.api.arrow_columns import column_of, runs_of_one_type
from headrace.api.arrow_records import table_to_records
from headrace.api.errors import DataError
from headrace.api.headers import Headers
from headrace.api.record import ConnectRecord, SourceRecord
from headrace.api.record_frames import AS_JSON, COLUMNS
from headrace.api.values import convert_to_string
from headrace.task.frames.frame_step import FrameInput
from headrace.task.record_converter import Polled

if TYPE_CHECKING:
    from headrace.api.schema import Schema

_PARTS: Final = (arrow.KEY, arrow.VALUE)
_UNKNOWN: Final = object()
_TIMESTAMP: Final = pa.timestamp("us", "UTC")


class RecordTables:
    """``Tables`` of a source.

    The schemas seen last are used for records that are all tombstones.
    """

    settings: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._last: dict[str, Any] = dict.fromkeys(_PARTS, _UNKNOWN)

    def inputs(self, batch: Polled) -> list[FrameInput[Polled]]:
        """Return the inputs of a batch, which is cut where the schemas of records change. DataError."""
        if isinstance(batch, Sequence):
            return [self._input(run) for run in runs_of_one_type(batch)]
        return [_of_table(batch)] if batch.num_rows else []

    def _input(self, run: Sequence[SourceRecord]) -> FrameInput[Polled]:
        table, in_json = self.table(run)
        return FrameInput(table, in_json, partial(records_of_result, topics=topics_of(run)))

    def table(self, records: Sequence[ConnectRecord]) -> tuple[pa.Table, tuple[str, ...]]:
        """Return the table of records of one type, and the names of its columns that are JSON."""
        columns = {arrow.TOPIC: pa.array([record.topic for record in records], pa.string())}
        columns[arrow.PARTITION] = pa.array([record.kafka_partition for record in records], pa.int32())
        in_json = []
        for name, values, schemas in (
            (arrow.KEY, [record.key for record in records], [record.key_schema for record in records]),
            (arrow.VALUE, [record.value for record in records], [record.value_schema for record in records]),
        ):
            schema = self._schema(name, values, schemas)
            if schema is _UNKNOWN and name == arrow.KEY:
                continue
            known: Schema | None = None if schema is _UNKNOWN else schema
            columns[name] = column_of(known, values, name)
            if known is None:
                in_json.append(name)
        if any(record.has_headers for record in records):
            columns[arrow.HEADERS] = _headers([record.headers for record in records])
        millis = pa.array([record.timestamp for record in records], pa.int64())
        columns[arrow.TIMESTAMP] = millis.cast(pa.timestamp("ms", "UTC")).cast(_TIMESTAMP)
        return pa.table(columns), tuple(in_json)

    def _schema(self, name: str, values: Sequence[Any], schemas: Sequence[Schema | None]) -> Any:
        """Return the schema of the values, which all that are not null share."""
        for value, schema in zip(values, schemas, strict=True):
            if value is not None:
                self._last[name] = schema
                break
        return self._last[name]


def topics_of(records: Sequence[ConnectRecord]) -> tuple[str, ...]:
    """Return the names of the records' topics, without repetitions."""
    return tuple(dict.fromkeys(record.topic for record in records))


def _headers(rows: Sequence[Headers]) -> pa.Array:
    """Return headers as text, as the header converter writes it; of several of one name in a record the last counts."""
    entries = [{header.key: convert_to_string(header.schema, header.value) for header in row} for row in rows]
    return pa.array([list(row.items()) for row in entries], pa.map_(pa.string(), pa.string()))


def _of_table(table: pa.Table) -> FrameInput[Polled]:
    arrow.validate_table(table)
    columns = {name: arrow.decoded(table.column(name)) for name in table.column_names if name in COLUMNS}
    if arrow.TIMESTAMP in columns:
        millis = arrow.millis(columns[arrow.TIMESTAMP])
        columns[arrow.TIMESTAMP] = millis.cast(pa.timestamp("ms", "UTC")).cast(_TIMESTAMP)
    for name in _PARTS:
        if name in columns and pa.types.is_null(columns[name].type):
            del columns[name]
    topics = tuple(columns[arrow.TOPIC].unique().to_pylist())
    return FrameInput(pa.table(columns), (), partial(records_of_result, topics=topics))


def records_of_result(result: pa.Table, topics: Sequence[str]) -> Polled:
    """Return a job's result in the form of a polled batch, without source offsets. DataError for what is no record.

    It is a table, or records where values or keys have no schema. ``topics`` are those of the job's input.
    """
    if result.num_rows == 0:
        return ()
    columns = {name: result.column(name) for name in result.column_names}
    if arrow.TOPIC not in columns:
        if len(topics) != 1:
            listed = ", ".join(topics)
            raise DataError(f"The result lacks the column topic, and the batch has records of several: {listed}")
        columns[arrow.TOPIC] = pa.chunked_array([arrow.constant(topics[0], result.num_rows)])
    elif columns[arrow.TOPIC].null_count:
        raise DataError("The result has a row whose topic is null")
    _check_partitions(columns.get(arrow.PARTITION))
    for name in (arrow.KEY, arrow.PARTITION, arrow.HEADERS, arrow.TIMESTAMP):
        if name in columns and columns[name].null_count == result.num_rows:
            del columns[name]
    if arrow.HEADERS in columns and not any(columns[arrow.HEADERS].to_pylist()):
        del columns[arrow.HEADERS]
    in_json = [name for name in _PARTS if name + AS_JSON in columns]
    if not in_json:
        return pa.table(columns)
    texts = {name: columns.pop(name + AS_JSON).to_pylist() for name in in_json}
    columns.setdefault(arrow.VALUE, pa.chunked_array([pa.nulls(result.num_rows)]))
    records = table_to_records(pa.table(columns))
    for name, column in texts.items():
        values = [None if text is None else json.loads(text) for text in column]
        with_part = SourceRecord.with_value if name == arrow.VALUE else SourceRecord.with_key
        records = [with_part(record, None, value) for record, value in zip(records, values, strict=True)]
    return records


def _check_partitions(partitions: pa.ChunkedArray | None) -> None:
    least = None if partitions is None else pc.min(partitions).as_py()
    if least is not None and least < 0:
        raise DataError(f"The result has a row whose partition is {least}")
