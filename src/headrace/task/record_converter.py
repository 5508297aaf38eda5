# SPDX-License-Identifier: Apache-2.0
"""Records to bytes: the converters of one task, applied a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from headrace.api.converter import Converter, HeaderConverter
from headrace.api.errors import ConnectError, DataError
from headrace.api.record import SourceRecord
from headrace.plugins.discovery import Plugins

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
RawHeaders = list[tuple[str, bytes | None]]


@dataclass(slots=True)
class TopicBatch:
    """Converted records of one topic, in order, as columns. An absent column (None) holds nothing for any record.

    ``sources`` are the polled records behind the rows, where somebody asked for them.
    """

    topic: str
    values: list[bytes | None] = field(default_factory=list)
    keys: list[bytes | None] | None = None
    partitions: list[int | None] | None = None
    timestamps: list[int | None] | None = None
    headers: list[RawHeaders | None] | None = None
    sources: list[SourceRecord] | None = None

    @property
    def plain(self) -> bool:
        """Whether there are only keys and values, which is what a whole batch can be sent with."""
        return self.partitions is None and self.timestamps is None and self.headers is None


class RecordConverter:
    """Task's thread only. A record that cannot be converted raises DataError naming topic, source offset and part."""

    def __init__(self, key: Converter, value: Converter, header: Callable[[], HeaderConverter]) -> None:
        """``header`` is called once, with the first record that has headers: most tasks never see one."""
        self._key = key
        self._value = value
        self._make_header = header
        self._header: HeaderConverter | None = None
        self._key_with_headers = _overrides(key)
        self._value_with_headers = _overrides(value)

    def convert_records(
        self, records: Sequence[SourceRecord], sources: Sequence[SourceRecord] | None = None
    ) -> list[TopicBatch]:
        """One batch per topic; the order within a topic is the records'. ``sources`` are remembered row by row."""
        batches: dict[str, TopicBatch] = {}
        for index, record in enumerate(records):
            batch = batches.get(record.topic)
            if batch is None:
                batch = batches[record.topic] = TopicBatch(record.topic, sources=[] if sources is not None else None)
            self._add(batch, record)
            if sources is not None and batch.sources is not None:
                batch.sources.append(sources[index])
        return list(batches.values())

    def convert_table(self, table: pa.Table) -> list[TopicBatch] | None:
        """A polled Arrow table without an object per record; None if a converter has no columnar path for it."""
        from headrace.api.arrow import tables_by_topic

        batches = []
        for topic, rows in tables_by_topic(table):
            batch = self._convert_columns(topic, rows)
            if batch is None:
                return None
            batches.append(batch)
        return batches

    def close(self) -> None:
        self._key.close()
        self._value.close()
        if self._header is not None:
            self._header.close()

    def _convert_columns(self, topic: str, rows: pa.Table) -> TopicBatch | None:
        names = set(rows.column_names)
        if "headers" in names or self._key_with_headers or self._value_with_headers:
            return None
        try:
            values = self._value.from_arrow(topic, rows.column("value"))
            keys = self._key.from_arrow(topic, rows.column("key")) if "key" in names else None
        except DataError:
            # Row by row it can be told which record it is.
            return None
        if values is None or ("key" in names and keys is None):
            return None
        return TopicBatch(
            topic, values, keys, partitions=_integers(rows, "partition"), timestamps=_integers(rows, "timestamp")
        )

    def _add(self, batch: TopicBatch, record: SourceRecord) -> None:
        row = len(batch.values)
        try:
            batch.values.append(self._convert(self._value, self._value_with_headers, record, False))
            if record.key is not None or record.key_schema is not None:
                key = self._convert(self._key, self._key_with_headers, record, True)
                if batch.keys is None:
                    batch.keys = [None] * row
                batch.keys.append(key)
            elif batch.keys is not None:
                batch.keys.append(None)
        except ConnectError as error:
            raise DataError(f"{_where(record)} cannot be converted: {error}") from error
        except Exception as error:
            raise DataError(f"{_where(record)} cannot be converted: {type(error).__name__}: {error}") from error
        batch.partitions = _extended(batch.partitions, row, record.kafka_partition)
        batch.timestamps = _extended(batch.timestamps, row, record.timestamp)
        batch.headers = _extended(batch.headers, row, self._headers(record) if record.has_headers else None)

    def _convert(self, converter: Converter, with_headers: bool, record: SourceRecord, is_key: bool) -> bytes | None:
        schema, data = (record.key_schema, record.key) if is_key else (record.value_schema, record.value)
        if with_headers:
            return converter.from_connect_data_with_headers(record.topic, record.headers, schema, data)
        return converter.from_connect_data(record.topic, schema, data)

    def _headers(self, record: SourceRecord) -> RawHeaders:
        if self._header is None:
            self._header = self._make_header()
        convert = self._header.from_connect_header
        return [(h.key, convert(record.topic, h.key, h.schema, h.value)) for h in record.headers]


def record_converter(connector: Mapping[str, str], worker: Mapping[str, str], plugins: Plugins) -> RecordConverter:
    """The converters of a connector, or the worker's where it names none; properties of the one that is named."""
    key, key_properties = _named("key.converter", connector, worker)
    value, value_properties = _named("value.converter", connector, worker)
    header, header_properties = _named("header.converter", connector, worker)
    key_converter = plugins.converter(key, "key.converter")()
    key_converter.configure(key_properties, True)
    value_converter = plugins.converter(value, "value.converter")()
    value_converter.configure(value_properties, False)

    def header_converter() -> HeaderConverter:
        converter = plugins.header_converter(header, "header.converter")()
        converter.configure(header_properties)
        return converter

    return RecordConverter(key_converter, value_converter, header_converter)


def _named(name: str, connector: Mapping[str, str], worker: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    source = connector if name in connector else worker
    default = "SimpleHeaderConverter" if name == "header.converter" else "JsonConverter"
    prefix = f"{name}."
    return source.get(name) or default, {k[len(prefix) :]: v for k, v in source.items() if k.startswith(prefix)}


def _overrides(converter: Converter) -> bool:
    return type(converter).from_connect_data_with_headers is not Converter.from_connect_data_with_headers


def _extended(column: list[T | None] | None, row: int, value: T | None) -> list[T | None] | None:
    if column is None:
        if value is None:
            return None
        column = [None] * row
    column.append(value)
    return column


def _integers(rows: pa.Table, name: str) -> list[int | None] | None:
    if name not in rows.column_names:
        return None
    column = rows.column(name)
    if column.null_count == len(column):
        return None
    import pyarrow as pa

    return list(column.cast(pa.int64()).to_pylist())


def _where(record: SourceRecord) -> str:
    return (
        f"record of topic {record.topic} with source partition {record.source_partition} "
        f"and offset {record.source_offset}"
    )
