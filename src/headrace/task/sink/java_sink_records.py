# SPDX-License-Identifier: Apache-2.0
"""Converts consumed bytes to a Java sink task's records within the JVM, one step of the chain after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from headrace.api.record import SinkRecord
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.java import consumed_functions as functions
from headrace.java.errors import python_error
from headrace.java.functions import BatchFunction, without, without_nulls
from headrace.java.put_records import PutRecords, origin_of
from headrace.java.records import python_sink_record
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.processing_context import ConsumedRecord, Operation
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.java_chain import JavaStep, java_converter, java_transformations, recover
from headrace.task.sink.sink_record_converter import (
    TIMESTAMP_TYPES,
    ConsumedSinkRecord,
    Originals,
    Reader,
    SinkRecordConverter,
)
from headrace.task.transformation_chain import TransformationChain

if TYPE_CHECKING:
    import pyarrow as pa

_WORTH_FUNCTIONS: Final = 300
"""Records for which it takes less to make functions of Java's than to convert each by itself."""


@dataclass(frozen=True, slots=True)
class JavaReader:
    """A Java converter of keys or values, and the operation that its failures are reported as."""

    operation: Operation
    converter: Any


class JavaSinkRecordConverter:
    """Converts large batches without headers in Java, and all others by ``converter``. Task's thread only.

    No transformation is applied to a record twice, unless it failed. Records that fail are handled as there.
    """

    def __init__(
        self,
        converter: SinkRecordConverter,
        key: JavaReader,
        value: JavaReader,
        transformations: Sequence[JavaStep],
        errors: RetryWithTolerance[ConsumedRecord],
        at_least: int = _WORTH_FUNCTIONS,
    ) -> None:
        """``at_least`` is the size from which a batch counts as large."""
        self._at_least = at_least
        self._converter = converter
        self._key = key
        self._value = value
        self._transformations = transformations
        self._errors = errors

    def records(self, messages: ConsumedMessages) -> Sequence[SinkRecord]:
        """Return records in order, as ``SinkRecordConverter.records`` does."""
        if len(messages) < self._at_least or any(messages.headers):
            return self._converter.records(messages)
        rows = _Rows(messages, self._errors)
        rows.read("keys", self._key)
        rows.read("values", self._value)
        records = rows.records()
        for step in self._transformations:
            records = rows.transformed(records, step)
        return PutRecords(records, partial(_python_record, messages, {}))

    def table(self, messages: ConsumedMessages, columns: Set[str]) -> pa.Table | None:
        """Return None: Java tasks take records."""
        return None

    def close(self) -> None:
        self._converter.close()


def create_java_converter(
    assembly: TaskAssembly[SinkConnectorConfig, ConsumedRecord],
    chain: TransformationChain[ConsumedRecord, SinkRecord],
    converter: SinkRecordConverter,
    errors: RetryWithTolerance[ConsumedRecord],
) -> JavaSinkRecordConverter | None:
    """Return what does the work of ``converter`` and ``chain`` in Java; None if Java has no part of it."""
    transformations = java_transformations(assembly, chain)
    key = _reader(assembly, KEY_CONVERTER, converter.key)
    value = _reader(assembly, VALUE_CONVERTER, converter.value)
    if transformations is None or key is None or value is None:
        return None
    return JavaSinkRecordConverter(converter, key, value, transformations, errors)


def _reader(
    assembly: TaskAssembly[SinkConnectorConfig, ConsumedRecord], name: str, reader: Reader
) -> JavaReader | None:
    java = java_converter(assembly, name, reader.operation, reader.converter)
    return None if java is None else JavaReader(reader.operation, java)


class _Rows:
    """Messages with the columns converted so far. A skipped row is removed from all columns."""

    def __init__(self, messages: ConsumedMessages, errors: RetryWithTolerance[ConsumedRecord]) -> None:
        self._messages = messages
        self._errors = errors
        self._columns: dict[str, Any] = {}

    def read(self, name: str, reader: JavaReader) -> None:
        """Fill a column with what a converter makes of the bytes of ``name``, keys or values."""
        if not self._messages:
            return
        column, topics = getattr(self._messages, name), self._messages.topics
        read = BatchFunction(functions.data_function(reader.converter, topics, column))
        skipped: set[int] = set()
        originals = Originals(self._messages).__getitem__
        recovered = recover(self._errors, reader.operation, originals, skipped)
        self._columns[name] = read(functions.rows(len(column)), recovered)
        if skipped:
            rest = [message for row, message in enumerate(self._messages.messages) if row not in skipped]
            self._messages = ConsumedMessages(rest)
            self._columns = {name: without(column, skipped) for name, column in self._columns.items()}

    def records(self) -> Any:
        """Return Java's records of all rows."""
        messages = self._messages
        if not messages:
            return functions.rows(0)
        kinds = [kind for kind, _ in messages.timestamps]
        places = functions.Places(
            messages.topics,
            messages.partitions,
            messages.offsets,
            [timestamp if kind else None for kind, timestamp in messages.timestamps],
            [TIMESTAMP_TYPES[kind] for kind in kinds],
        )
        made = BatchFunction(functions.record_function(places, self._columns["keys"], self._columns["values"]))
        return made(functions.rows(len(messages)), _not_expected)

    def transformed(self, records: Any, step: JavaStep) -> Any:
        """Return a Java list of what ``step`` returns for each record; what it drops, or is skipped, is left out."""
        originals = partial(_original, self._messages, records)
        results = step.function(records, recover(self._errors, step.operation, originals, set()))
        return without_nulls(results)


def _not_expected(row: int, error: Any, again: Callable[[], Any]) -> Any:
    raise python_error(error, "Java's sink records")


def _rows_by_origin(messages: ConsumedMessages) -> dict[tuple[str, int, int], int]:
    places = zip(messages.topics, messages.partitions, messages.offsets, strict=True)
    return {place: row for row, place in enumerate(places)}


def _original(messages: ConsumedMessages, records: Any, row: int) -> ConsumedRecord:
    original: ConsumedRecord = Originals(messages)[_rows_by_origin(messages)[origin_of(records.get(row))]]
    return original


def _python_record(messages: ConsumedMessages, rows: dict[tuple[str, int, int], int], java: Any) -> SinkRecord:
    """Return a record as Python's; ``rows`` is filled by the first call."""
    if not rows:
        rows.update(_rows_by_origin(messages))
    record = python_sink_record(java, ConsumedSinkRecord)
    record.consumed = messages, rows[origin_of(java)]
    return record
