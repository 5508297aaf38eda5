# SPDX-License-Identifier: Apache-2.0
"""Converts consumed bytes to a sink task's records: converters a column at a time, then transformations."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from headrace.api.converter import Converter, HeaderConverter, SchemaAndValue
from headrace.api.headers import Header, Headers
from headrace.api.record import SinkRecord, TimestampType
from headrace.kafka.data.consumed_messages import ConsumedMessages, RawHeaders
from headrace.task.errors.processing_context import ConsumedRecord, Operation
from headrace.task.errors.retry_with_tolerance import SKIPPED, RetryWithTolerance
from headrace.task.transformation_chain import TransformationChain

if TYPE_CHECKING:
    import pyarrow as pa

_first, _second = itemgetter(0), itemgetter(1)
TIMESTAMP_TYPES: Final = (TimestampType.NO_TIMESTAMP_TYPE, TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)
"""In the order of the numbers that the client has for them."""


class ConsumedSinkRecord(SinkRecord):
    """A record with a reference to the message it was made of, for error reports."""

    __slots__ = ("consumed",)

    consumed: tuple[ConsumedMessages, int]

    def _copy(self) -> ConsumedSinkRecord:
        record = super()._copy()
        record.consumed = self.consumed
        return record


@dataclass(frozen=True, slots=True)
class Reader:
    """A converter of keys or values, and the operation that its failures are reported as."""

    operation: Operation
    converter: Converter

    @property
    def with_headers(self) -> bool:
        return type(self.converter).to_connect_data_with_headers is not Converter.to_connect_data_with_headers


@dataclass(frozen=True, slots=True)
class HeadersReader:
    """The converter of headers, and the operation that its failures are reported as."""

    operation: Operation
    converter: HeaderConverter

    def read(self, topic: str, raw: RawHeaders | None) -> Headers | None:
        if not raw:
            return None
        convert = self.converter.to_connect_header
        read = ((key, convert(topic, key, value)) for key, value in raw)
        return Headers(Header(key, data.value, data.schema) for key, data in read)


class SinkRecordConverter:
    """Converts messages to records or tables. Task's thread only.

    Records that can be converted cost no more than the calls of their converters.
    """

    def __init__(
        self,
        key: Reader,
        value: Reader,
        headers: HeadersReader,
        chain: TransformationChain[ConsumedRecord, SinkRecord],
        errors: RetryWithTolerance[ConsumedRecord],
        *,
        reportable: bool,
    ) -> None:
        """``reportable`` records keep a reference to the messages they were made of."""
        self.key = key
        self.value = value
        self.headers = headers
        self._chain = chain
        self._errors = errors
        self._reportable = reportable

    def records(self, messages: ConsumedMessages) -> list[SinkRecord]:
        """Return records in order, without those that are dropped or skipped (and reported).

        ToleranceExceededError for one that fails, StoppedWhileRetryingError if the task is to stop meanwhile.
        """
        rows = _Rows(messages, self._errors)
        rows.read("key", self.key)
        rows.read("value", self.value)
        if any(rows.messages.headers):
            headers = self.headers
            rows.fill("headers", headers.operation, headers.read, rows.messages.topics, rows.messages.headers)
        records = rows.records(ConsumedSinkRecord if self._reportable else SinkRecord)
        self._errors.steps.converted(len(messages), len(records))
        if not self._chain:
            return records
        transformed = self._chain.apply_all(records, Originals(rows.messages))
        return [record for record in transformed if record is not None]

    def table(self, messages: ConsumedMessages, columns: Set[str]) -> pa.Table | None:
        """Return a table of ``columns``, without an object per record; None if that is not possible."""
        if self._chain or self.key.with_headers or self.value.with_headers:
            return None
        return _sink_table(messages, columns, self.key.converter, self.value.converter)

    def original(self, record: SinkRecord) -> ConsumedRecord:
        """Return a record as it was consumed; one that the task has created is converted back, as in Java."""
        if isinstance(record, ConsumedSinkRecord):
            messages, row = record.consumed
            original: ConsumedRecord = Originals(messages)[row]
            return original
        topic, headers = record.topic, self.headers.converter.from_connect_header
        return ConsumedRecord(
            topic,
            record.kafka_partition or 0,
            record.kafka_offset,
            self.key.converter.from_connect_data(topic, record.key_schema, record.key),
            self.value.converter.from_connect_data(topic, record.value_schema, record.value),
            [(each.key, headers(topic, each.key, each.schema, each.value)) for each in record.headers],
            record.timestamp,
            record.timestamp_type,
        )

    def close(self) -> None:
        self._chain.close()
        for reader in (self.key, self.value, self.headers):
            reader.converter.close()


class Originals(Sequence[ConsumedRecord]):
    """Messages as error handling reports them, each created when it is asked for."""

    def __init__(self, messages: ConsumedMessages) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, row: Any) -> Any:
        columns = self._messages
        kind, timestamp = columns.timestamps[row]
        return ConsumedRecord(
            columns.topics[row],
            columns.partitions[row],
            columns.offsets[row],
            columns.keys[row],
            columns.values[row],
            columns.headers[row] or (),
            timestamp if kind else None,
            TIMESTAMP_TYPES[kind],
        )


class _Rows:
    """Messages with the columns converted so far. A skipped row is removed from all columns."""

    def __init__(self, messages: ConsumedMessages, errors: RetryWithTolerance[ConsumedRecord]) -> None:
        self.messages = messages
        self._errors = errors
        self._columns: dict[str, list[Any]] = {}

    def read(self, name: str, reader: Reader) -> None:
        messages = self.messages
        if not messages:
            return
        raw: list[bytes | None] = messages.keys if name == "key" else messages.values
        if self._read_at_once(name, reader, raw):
            return
        if reader.with_headers:
            named = [dict(each or ()) for each in messages.headers]
            convert = reader.converter.to_connect_data_with_headers
            self.fill(name, reader.operation, convert, messages.topics, named, raw)
        elif not self._read_nulls(name, reader, raw):
            self.fill(name, reader.operation, reader.converter.to_connect_data, messages.topics, raw)

    def fill(self, name: str, operation: Operation, convert: Callable[..., Any], *arguments: Sequence[Any]) -> None:
        """Fill a column with the results of ``convert`` for each row's arguments."""
        try:
            self._columns[name] = list(map(convert, *arguments))
        except Exception:
            # Once more, row by row: converters return the same for the same bytes.
            self._fill_carefully(name, operation, convert, *arguments)

    def _read_at_once(self, name: str, reader: Reader, raw: list[bytes | None]) -> bool:
        try:
            column = reader.converter.to_connect_columns(self.messages.topics, raw)
        except Exception:
            # Row by row the one that fails is found.
            return False
        if column is None or len(column) != len(raw):
            return False
        self._columns[name] = column
        return True

    def _read_nulls(self, name: str, reader: Reader, raw: list[bytes | None]) -> bool:
        """Convert one null for all rows, as most topics without keys have none at all; return True if that did it."""
        topics = self.messages.topics
        if raw.count(None) < len(raw) or topics.count(topics[0]) < len(topics):
            return False
        try:
            null = reader.converter.to_connect_data(topics[0], None)
        except Exception:
            return False
        self._columns[name] = [null] * len(raw)
        return null.value is None

    def _fill_carefully(
        self, name: str, operation: Operation, convert: Callable[..., Any], *arguments: Sequence[Any]
    ) -> None:
        column: list[Any] = []
        originals = Originals(self.messages)
        for row, row_arguments in enumerate(zip(*arguments, strict=True)):
            try:
                column.append(convert(*row_arguments))
            except Exception as error:
                again = partial(convert, *row_arguments)
                column.append(self._errors.recover(operation, originals[row], error, again))
        self._columns[name] = column
        failed = {row for row, entry in enumerate(column) if entry is SKIPPED}
        if failed:
            self.messages = ConsumedMessages(_without(failed, self.messages.messages))
            self._columns = {name: _without(failed, column) for name, column in self._columns.items()}

    def records(self, cls: type[SinkRecord]) -> list[SinkRecord]:
        messages, columns = self.messages, self._columns
        if not messages:
            return []
        key_schemas, keys = _split(columns["key"])
        value_schemas, values = _split(columns["value"])
        timestamps, kinds = _timestamps(messages.timestamps)
        records = list(
            map(
                cls,
                messages.topics,
                messages.partitions,
                key_schemas,
                keys,
                value_schemas,
                values,
                messages.offsets,
                timestamps,
                kinds,
                columns.get("headers") or repeat(None),
            )
        )
        if cls is ConsumedSinkRecord:
            for row, record in enumerate(records):
                record.consumed = (messages, row)  # type: ignore[attr-defined]
        return records


def _sink_table(messages: ConsumedMessages, columns: Set[str], key: Converter, value: Converter) -> pa.Table | None:
    """Return a table of ``columns``; None if a converter has no columnar path for these bytes, whatever the reason.

    Row by row the record that fails is found.
    """
    if not messages.of_one_topic:
        return None
    import pyarrow as pa

    from headrace.api import arrow

    converted: dict[str, pa.Array] = {}
    try:
        if arrow.KEY in columns:
            converted[arrow.KEY] = key.to_arrow(messages.topics[0], pa.array(messages.keys, pa.binary()))
        if arrow.VALUE in columns:
            converted[arrow.VALUE] = value.to_arrow(messages.topics[0], pa.array(messages.values, pa.binary()))
    except Exception:
        return None
    if any(column is None for column in converted.values()):
        return None
    if arrow.TOPIC in columns:
        converted[arrow.TOPIC] = pa.array(messages.topics, pa.string())
    if arrow.PARTITION in columns:
        converted[arrow.PARTITION] = pa.array(messages.partitions, pa.int32())
    if arrow.OFFSET in columns:
        converted[arrow.OFFSET] = pa.array(messages.offsets, pa.int64())
    if arrow.TIMESTAMP in columns:
        timestamps = [timestamp if kind else None for kind, timestamp in messages.timestamps]
        converted[arrow.TIMESTAMP] = pa.array(timestamps, pa.int64())
    return pa.table(converted)


def _split(column: Sequence[SchemaAndValue]) -> tuple[Sequence[Any], Sequence[Any]]:
    return list(map(_first, column)), list(map(_second, column))


def _timestamps(column: Sequence[tuple[int, int]]) -> tuple[Sequence[int | None], Any]:
    kinds = list(map(_first, column))
    if kinds[0] and kinds.count(kinds[0]) == len(kinds):
        return list(map(_second, column)), repeat(TIMESTAMP_TYPES[kinds[0]])
    timestamps = [timestamp if kind else None for kind, timestamp in column]
    return timestamps, [TIMESTAMP_TYPES[kind] for kind in kinds]


def _without(rows: Set[int], column: Sequence[Any]) -> list[Any]:
    return [entry for row, entry in enumerate(column) if row not in rows]
