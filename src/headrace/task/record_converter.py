# SPDX-License-Identifier: Apache-2.0
"""Converts source records to bytes: the converters of one task, applied a column at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

from headrace.api.converter import Converter, HeaderConverter
from headrace.api.headers import RAW, Headers
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER
from headrace.task.column_record import ColumnRecord
from headrace.task.errors.processing_context import Operation
from headrace.task.errors.retry_with_tolerance import SKIPPED, RetryWithTolerance
from headrace.task.task_converters import TaskConverters
from headrace.task.topic_batch import RawHeaders, TopicBatch

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Polled: TypeAlias = Union[Sequence[SourceRecord], "pa.Table"]
"""A polled batch, or its result after a step on frames: records, or an Arrow table with a row for each."""


@dataclass(frozen=True, slots=True)
class PartConverter:
    """The converter of keys or of values, and the operation that its failures are reported as."""

    operation: Operation
    converter: Converter
    with_headers: bool
    by_columns: bool
    """False if only single values may be converted."""

    @classmethod
    def of(cls, operation: Operation, converter: Converter) -> PartConverter:
        overrides = type(converter).from_connect_data_with_headers is not Converter.from_connect_data_with_headers
        return cls(operation, converter, overrides, not overrides and _converts_columns(converter))

    def convert(self, rows: _Rows, name: str, schemas: list[Schema | None], data: list[Any]) -> None:
        """Fill the column ``name`` of ``rows``."""
        if rows.fill_at_once(name, partial(self.converter.from_connect_columns, rows.topic, schemas, data)):
            return
        topic = repeat(rows.topic)
        if self.with_headers:
            convert = self.converter.from_connect_data_with_headers
            rows.fill(name, self.operation, convert, topic, [r.headers for r in rows.records], schemas, data)
        else:
            rows.fill(name, self.operation, self.converter.from_connect_data, topic, schemas, data)

    def convert_column(self, topic: str, schema: Schema | None, column: pa.Array) -> list[bytes | None] | None:
        """Return the bytes of a column; None if the converter needs single rows."""
        if schema is None or not self.by_columns:
            return None
        return self.converter.from_arrow_with_schema(topic, schema, column)


def _converts_columns(converter: Converter) -> bool:
    """Return False if a derived class converts single values otherwise than the columns that it inherits."""
    for cls in type(converter).__mro__:
        if "from_arrow" in vars(cls) or "from_arrow_with_schema" in vars(cls):
            return True
        if "from_connect_data" in vars(cls):
            return False
    return False


class HeadersConverter:
    """The converter of headers; ``create`` is called for the first record that has some: most tasks never see one."""

    def __init__(self, operation: Operation, create: Callable[[], HeaderConverter]) -> None:
        self.operation = operation
        self._create = create
        self._converter: HeaderConverter | None = None

    def convert(self, rows: _Rows) -> None:
        """Fill the column ``headers`` of ``rows``."""
        rows.fill("headers", self.operation, self.convert_one, repeat(rows.topic), [r.headers for r in rows.records])

    def convert_columns(self, columns: ColumnRecord) -> list[RawHeaders | None] | None:
        """Return the headers of a record that stands for a table's; None if there are none."""
        record = columns.record
        if not record.has_headers:
            return None
        if columns.shares_headers:
            return [self.convert_one(record.topic, record.headers)] * columns.rows
        return [self.convert_one(record.topic, headers or Headers()) for headers in columns.headers()]

    def convert_one(self, topic: str, headers: Headers) -> RawHeaders | None:
        """Return the headers of one record."""
        if self._converter is None:
            self._converter = self._create()
        convert = self._converter.from_connect_header
        return [
            (h.key, h.value if h.schema is RAW else convert(topic, h.key, h.schema, h.value)) for h in headers
        ] or None

    def close(self) -> None:
        if self._converter is not None:
            self._converter.close()


class RecordConverter:
    """Converts records or tables to topic batches. Task's thread only.

    Records that can be converted cost no more than the calls of their converters.
    """

    def __init__(
        self,
        key: PartConverter,
        value: PartConverter,
        headers: HeadersConverter,
        errors: RetryWithTolerance[SourceRecord],
        observe: Callable[[Polled], None] = lambda batch: None,
    ) -> None:
        """``observe`` gets each batch before its conversion."""
        self._observe = observe
        self.key = key
        self.value = value
        self.headers = headers
        self._errors = errors

    def convert_records(
        self, records: Sequence[SourceRecord], sources: Sequence[SourceRecord] | None = None
    ) -> tuple[list[TopicBatch], list[SourceRecord]]:
        """Return one batch per topic, in the records' order; and those of ``sources`` that are skipped (and reported).

        ``sources`` are the polled records that ``records`` were made of, where these are others.
        ToleranceExceededError for a record that fails.
        """
        self._observe(records)
        skipped: list[SourceRecord] = []
        batches = []
        for topic, of_topic, of_sources in _by_topic(records, records if sources is None else sources):
            batch = self._batch(_Rows(topic, of_topic, of_sources, self._errors, skipped))
            if batch.values:
                batches.append(batch)
        self._errors.steps.converted(len(records), len(records) - len(skipped))
        return batches, skipped

    def convert_table(self, table: pa.Table) -> list[TopicBatch] | None:
        """Convert an Arrow table without an object per record; None if a converter has no columnar path for it."""
        from headrace.api.arrow import tables_by_topic

        self._observe(table)
        batches = []
        for topic, rows in tables_by_topic(table):
            batch = self._convert_columns(topic, rows)
            if batch is None:
                return None
            batches.append(batch)
        self._errors.steps.converted(table.num_rows, table.num_rows)
        return batches

    def convert_columns(self, columns: ColumnRecord) -> TopicBatch | None:
        """Convert a record that stands for a table's; None if a converter has no columnar path for it."""
        record = columns.record
        self._observe([record])
        if self.key.with_headers or self.value.with_headers:
            return None
        try:
            values = self.value.convert_column(record.topic, record.value_schema, columns.value())
            has_keys = record.key is not None or record.key_schema is not None
            keys = self.key.convert_column(record.topic, record.key_schema, columns.key()) if has_keys else None
            headers = self.headers.convert_columns(columns)
        except Exception:
            # Record by record the one that fails is found, and the others are converted.
            return None
        if values is None or (has_keys and keys is None):
            return None
        others = columns.partitions(), columns.timestamps()
        if any(column is not None and len(column) != columns.rows for column in (values, keys, *others, headers)):
            # No record may be missing, or get another one's key.
            return None
        self._errors.steps.converted(columns.rows, columns.rows)
        return TopicBatch(
            record.topic,
            values,
            keys,
            *others,
            headers,
            origins=TableRecords(columns.table),
        )

    def close(self) -> None:
        self.key.converter.close()
        self.value.converter.close()
        self.headers.close()

    def _convert_columns(self, topic: str, rows: pa.Table) -> TopicBatch | None:
        names = set(rows.column_names)
        if "headers" in names or self.key.with_headers or self.value.with_headers:
            return None
        if not self.value.by_columns or ("key" in names and not self.key.by_columns):
            return None
        try:
            values = self.value.converter.from_arrow(topic, rows.column("value"))
            keys = self.key.converter.from_arrow(topic, rows.column("key")) if "key" in names else None
        except Exception:
            # Row by row the record that fails is found, and the others are converted.
            return None
        if values is None or ("key" in names and keys is None):
            return None
        return TopicBatch(
            topic,
            values,
            keys,
            partitions=_integers(rows, "partition"),
            timestamps=_integers(rows, "timestamp"),
            origins=TableRecords(rows),
        )

    def _batch(self, rows: _Rows) -> TopicBatch:
        records = rows.records
        if any(record.key is not None or record.key_schema is not None for record in records):
            self.key.convert(rows, "keys", [r.key_schema for r in records], [r.key for r in records])
            records = rows.records
        self.value.convert(rows, "values", [r.value_schema for r in records], [r.value for r in records])
        # Last, as the other two may add some.
        if any(record.has_headers for record in rows.records):
            self.headers.convert(rows)
        return rows.batch()


class _Rows:
    """Records of one topic with the columns converted so far. A skipped row is removed from all columns."""

    def __init__(
        self,
        topic: str,
        records: Sequence[SourceRecord],
        sources: Sequence[SourceRecord],
        errors: RetryWithTolerance[SourceRecord],
        skipped: list[SourceRecord],
    ) -> None:
        self.topic = topic
        self.records = records
        self._sources = sources
        self._errors = errors
        self._skipped = skipped
        self._columns: dict[str, list[Any]] = {}

    def fill_at_once(self, name: str, convert: Callable[[], list[Any] | None]) -> bool:
        """Fill a column with all results of ``convert``; return False if rows have to be converted one by one."""
        try:
            column = convert()
        except Exception:
            # Row by row the one that fails is found.
            return False
        if column is None or len(column) != len(self.records):
            return False
        self._columns[name] = column
        return True

    def fill(self, name: str, operation: Operation, convert: Callable[..., Any], *arguments: Iterable[Any]) -> None:
        """Fill a column with the results of ``convert`` for each row's arguments."""
        column: list[Any] = []
        append = column.append
        failed = set()
        for row_arguments in zip(*arguments, strict=False):
            try:
                append(convert(*row_arguments))
            except Exception as error:
                row = len(column)
                again = partial(convert, *row_arguments)
                recovered = self._errors.recover(operation, self._sources[row], error, again)
                if recovered is SKIPPED:
                    failed.add(row)
                append(recovered)
        self._columns[name] = column
        if failed:
            self._remove(failed)

    def batch(self) -> TopicBatch:
        return TopicBatch(
            self.topic,
            **self._columns,
            partitions=_column([record.kafka_partition for record in self.records]),
            timestamps=_column([record.timestamp for record in self.records]),
            sources=self._sources,
            origins=self._sources,
        )

    def _remove(self, failed: Set[int]) -> None:
        self._skipped.extend(self._sources[row] for row in sorted(failed))
        self.records = _without(failed, self.records)
        self._sources = _without(failed, self._sources)
        self._columns = {name: _without(failed, column) for name, column in self._columns.items()}


class TableRecords(Sequence[SourceRecord]):
    """Rows of a table as records, made when the first is asked for: nearly always none is."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __getitem__(self, row: Any) -> Any:
        return self._records[row]

    @cached_property
    def _records(self) -> list[SourceRecord]:
        from headrace.api.arrow_records import table_to_records

        return table_to_records(self._rows)


def _without(rows: Set[int], column: Sequence[T]) -> list[T]:
    return [entry for row, entry in enumerate(column) if row not in rows]


def _column(entries: list[T | None]) -> list[T | None] | None:
    return entries if any(entry is not None for entry in entries) else None


def _by_topic(
    records: Sequence[SourceRecord], sources: Sequence[SourceRecord]
) -> Iterator[tuple[str, Sequence[SourceRecord], Sequence[SourceRecord]]]:
    """Yield topics with their records and the source of each; nearly always there is one topic."""
    if not records:
        return
    first = records[0].topic
    if all(record.topic == first for record in records):
        yield first, records, sources
        return
    by_topic: dict[str, tuple[list[SourceRecord], list[SourceRecord]]] = {}
    for record, source in zip(records, sources, strict=True):
        of_topic, of_sources = by_topic.setdefault(record.topic, ([], []))
        of_topic.append(record)
        of_sources.append(source)
    for topic, (of_topic, of_sources) in by_topic.items():
        yield topic, of_topic, of_sources


def create_record_converter(
    converters: TaskConverters,
    errors: RetryWithTolerance[SourceRecord],
    observe: Callable[[Polled], None] = lambda batch: None,
) -> RecordConverter:
    """Return the converter of a task's records; it fails as ``errors`` say, and ``observe`` gets each batch before."""
    operation, create_header_converter = converters.header_converter()
    return RecordConverter(
        PartConverter.of(*converters.create_converter(KEY_CONVERTER)),
        PartConverter.of(*converters.create_converter(VALUE_CONVERTER)),
        HeadersConverter(operation, create_header_converter),
        errors,
        observe,
    )


def _integers(rows: pa.Table, name: str) -> list[int | None] | None:
    if name not in rows.column_names:
        return None
    column = rows.column(name)
    if column.null_count == len(column):
        return None
    import pyarrow as pa

    return list(column.cast(pa.int64()).to_pylist())
