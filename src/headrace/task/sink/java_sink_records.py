# SPDX-License-Identifier: Apache-2.0
"""Converts consumed bytes to a Java sink task's records within the JVM, one step of the chain after the other."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from headrace.api.record import SinkRecord
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.java.consumed_functions import DataFunction, Origins, PutFunction, RecordFunction
from headrace.java.functions import Recover, without, without_nulls
from headrace.java.put_records import PutRecords, not_expected, put_batch
from headrace.java.records import JavaContents, java_header_list
from headrace.kafka.data.consumed_messages import ConsumedMessages, RawHeaders
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.processing_context import ConsumedRecord, Operation
from headrace.task.errors.retry_with_tolerance import SKIPPED, RetryWithTolerance
from headrace.task.java_chain import JavaStep, all_java_steps, java_converter, recover
from headrace.task.sink.sink_record_converter import (
    TIMESTAMP_TYPES,
    ConsumedSinkRecord,
    HeadersReader,
    Originals,
    Reader,
    SinkRecordConverter,
)
from headrace.task.transformation_chain import TransformationChain

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_LISTS: Final = 1_000
"""Different headers in a batch of which the lists are kept."""


@dataclass(frozen=True, slots=True)
class JavaReader:
    """A Java converter of keys or values, and the operation that its failures are reported as."""

    operation: Operation
    converter: Any


class JavaSinkRecordConverter:
    """Does in Java what ``converter`` does. Task's thread only.

    No transformation is applied to a record twice, unless it failed. Records that fail are handled as there.
    """

    def __init__(
        self,
        converter: SinkRecordConverter,
        key: JavaReader,
        value: JavaReader,
        transformations: Sequence[JavaStep],
        errors: RetryWithTolerance[ConsumedRecord],
    ) -> None:
        """``converter`` reads headers, and is closed."""
        self._converter = converter
        self._key = key
        self._value = value
        self._transformations = transformations
        self._errors = errors

    @cached_property
    def _functions(self) -> _Functions:
        return _Functions(self._key, self._value)

    def records(self, messages: ConsumedMessages) -> Sequence[SinkRecord]:
        """Return records in order, as ``SinkRecordConverter.records`` does."""
        rows = _Rows(messages, self._functions, self._errors)
        rows.read("keys")
        rows.read("values")
        rows.read_headers(self._converter.headers)
        self._errors.steps.converted(len(messages), len(rows))
        rows.make_records()
        for step in self._transformations:
            rows.transform(step)
        return rows.put_records()

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
    transformations = all_java_steps(assembly, chain)
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


class _Functions:
    """The functions of a task, which all its batches use: to make them takes some milliseconds."""

    def __init__(self, key: JavaReader, value: JavaReader) -> None:
        self.origins = Origins()
        self.operations = {"keys": key.operation, "values": value.operation}
        self.data = {"keys": self._data(key), "values": self._data(value)}
        self.records = RecordFunction(self.origins, TIMESTAMP_TYPES)
        self.put = PutFunction(self.origins)

    def _data(self, reader: JavaReader) -> DataFunction:
        return DataFunction(reader.converter, self.origins)


class _Rows:
    """Messages with what is made of each so far. A row that is skipped or dropped is removed from all."""

    def __init__(
        self, messages: ConsumedMessages, functions: _Functions, errors: RetryWithTolerance[ConsumedRecord]
    ) -> None:
        self._functions = functions
        self._errors = errors
        self._keep(messages)
        self._columns: dict[str, Any] = {}
        self._headers: Sequence[Any] | None = None
        self._records: Any = None

    def __len__(self) -> int:
        return len(self._messages)

    def read(self, name: str) -> None:
        """Fill a column with what a converter makes of the bytes of ``name``, keys or values."""
        if not self._messages:
            return
        column, skipped = getattr(self._messages, name), set[int]()
        recover = self._recover(self._functions.operations[name], skipped)
        self._columns[name] = self._functions.data[name](column, recover)
        self._remove(skipped)

    def read_headers(self, reader: HeadersReader) -> None:
        """Fill the column of headers, if any row has some."""
        if not any(self._messages.headers):
            return
        read, skipped = _HeaderLists(reader), set[int]()
        originals, column = Originals(self._messages), list[Any]()
        for row, (topic, raw) in enumerate(zip(self._messages.topics, self._messages.headers, strict=True)):
            try:
                column.append(read(topic, raw))
            except Exception as error:
                again = partial(read, topic, raw)
                column.append(self._errors.recover(reader.operation, originals[row], error, again))
                if column[-1] is SKIPPED:
                    skipped.add(row)
        self._headers = [each for row, each in enumerate(column) if row not in skipped]
        self._remove(skipped)

    def make_records(self) -> None:
        """Make Java's records of all columns."""
        if self._messages:
            data = self._columns["keys"], self._columns["values"], self._headers
            self._records = self._functions.records(*data, self._messages.timestamps, not_expected)

    def transform(self, step: JavaStep) -> None:
        """Replace each record by what ``step`` returns."""
        if not self._messages:
            return
        before, skipped = len(self), set[int]()
        self._records = step.function(self._records, self._recover(step.operation, skipped))
        if self._records.indexOf(None) >= 0:
            self._remove_messages({row for row, each in enumerate(self._records.toArray()) if each is None})
            without_nulls(self._records)
        filtered = before - len(self) - len(skipped)
        self._errors.step(step.operation).passed(before, len(self), filtered)

    def put_records(self) -> Sequence[SinkRecord]:
        """Return the records as they are put."""
        if not self._messages:
            return []
        python_record = partial(_python_record, self._messages)
        return PutRecords(self._functions.put(self._records, put_batch(python_record), not_expected), python_record)

    def _recover(self, operation: Operation, skipped: set[int]) -> Recover:
        return recover(self._errors, operation, Originals(self._messages).__getitem__, skipped)

    def _remove(self, rows: Set[int]) -> None:
        """Remove messages and what has been made of them, before there are records."""
        if rows:
            self._remove_messages(rows)
            self._columns = {name: without(column, rows) for name, column in self._columns.items()}

    def _remove_messages(self, rows: Set[int]) -> None:
        self._keep(
            ConsumedMessages([message for row, message in enumerate(self._messages.messages) if row not in rows])
        )

    def _keep(self, messages: ConsumedMessages) -> None:
        self._messages = messages
        if messages:
            self._functions.origins.fill(messages.topics, messages.partitions, messages.offsets)


class _HeaderLists:
    """Reads headers as Java lists. The same bytes, as they are in most records of a topic, are read once."""

    def __init__(self, reader: HeadersReader) -> None:
        self._reader = reader
        self._lists: dict[tuple[Any, ...], Any] = {}

    def __call__(self, topic: str, raw: RawHeaders | None) -> Any:
        """Return the headers, which no record may change; None if there are none."""
        if not raw:
            return None
        key = (topic, *raw)
        found = self._lists.get(key)
        if found is None:
            found = java_header_list(self._reader.read(topic, raw) or ())
            if len(self._lists) < _MOST_LISTS:
                self._lists[key] = found
        return found


class _ConsumedJavaRecord(JavaContents, ConsumedSinkRecord):
    """A record in Java, with a reference to the message it was made of."""

    __slots__ = ("java",)


def _python_record(messages: ConsumedMessages, java: Any, row: int) -> SinkRecord:
    record = _ConsumedJavaRecord.__new__(_ConsumedJavaRecord)
    record.java, record.consumed = java, (messages, row)
    return record
