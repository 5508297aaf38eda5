# SPDX-License-Identifier: Apache-2.0
"""Converts what a Java task has polled to source batches within the JVM, one step of the chain after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from headrace.api.record import SourceRecord
from headrace.java import record_functions
from headrace.java.arrays import bytes_column
from headrace.java.data import python_value
from headrace.java.functions import Recover, without
from headrace.java.polled_records import PolledRecords
from headrace.java.records import python_headers
from headrace.task.errors.processing_context import Operation
from headrace.task.errors.retry_with_tolerance import SKIPPED, RetryWithTolerance
from headrace.task.java_chain import JavaStep, recover
from headrace.task.record_converter import HeadersConverter, Polled
from headrace.task.source.source_batch import OffsetsByKey, SourceBatch, SourceDeadLetters, put_offset
from headrace.task.topic_batch import SelectedRecords, TopicBatch

Errors = RetryWithTolerance[SourceRecord]
_MOST_SHARED: Final = 100
"""Different headers in a batch up to which equal ones are looked for."""


@dataclass(frozen=True, slots=True)
class JavaSteps:
    """All that becomes of a record: its transformations, in order, and its conversions to bytes."""

    transformations: Sequence[JavaStep]
    key: JavaStep
    value: JavaStep
    headers: HeadersConverter
    close: Callable[[], None]


class JavaBatches:
    """``Batches`` of a Java task whose transformations and converters are all Java's. Task's thread only.

    No step is applied to a record twice, unless that failed. Records that fail are handled as in ``SourceBatches``.
    """

    def __init__(
        self,
        connector: str,
        steps: JavaSteps,
        errors: Errors,
        dead_letters: SourceDeadLetters | None,
        observe: Callable[[Polled], None],
        *,
        remember: bool,
    ) -> None:
        """``observe`` gets each batch before its conversion; ``remember`` is that of ``SourceBatches``."""
        self._connector = connector
        self._steps = steps
        self._errors = errors
        self._dead_letters = dead_letters
        self._observe = observe
        self._remember = remember

    def convert(self, polled: Polled) -> SourceBatch:
        assert isinstance(polled, PolledRecords)
        offsets = self._offsets(polled)
        rows = _Rows(polled, self._errors)
        for step in self._steps.transformations:
            rows.transform(step)
        self._observe(PolledRecords(rows.records))
        transformed = len(rows)
        rows.convert("keys", self._steps.key)
        rows.convert("values", self._steps.value)
        rows.convert_headers(self._steps.headers)
        self._errors.steps.converted(transformed, len(rows))
        dead_letters = self._dead_letters.take() if self._dead_letters is not None else None
        size = len(rows) + (len(dead_letters.values) if dead_letters is not None else 0)
        dropped = [polled[place] for place in sorted(rows.gone)] if self._remember else ()
        return SourceBatch(list(rows.topic_batches(remember=self._remember)), offsets, size, dropped, dead_letters)

    def take_rest(self) -> None:
        """Return None: every batch is sent as it is polled."""

    def close(self) -> None:
        self._steps.close()

    def _offsets(self, polled: PolledRecords) -> OffsetsByKey:
        offsets: OffsetsByKey = {}
        for partition, offset in record_functions.last_offsets(polled.java):
            if partition is not None:
                put_offset(offsets, self._connector, python_value(None, partition), python_value(None, offset))
        return offsets


class _Rows:
    """The records of a batch as its steps have left them, and the columns that are converted so far."""

    def __init__(self, polled: PolledRecords, errors: Errors) -> None:
        self._polled = polled
        self._errors = errors
        self.records = polled.java
        self._places: Sequence[int] = range(len(polled))
        """Of each row, the place of its record in the polled batch."""
        self._columns: dict[str, list[Any] | None] = {}
        self.gone: list[int] = []
        """Places of records that were dropped or skipped."""

    def __len__(self) -> int:
        return len(self._places)

    def transform(self, step: JavaStep) -> None:
        """Replace each record by what ``step`` returns; one that it drops, or that is skipped, is removed."""
        before, skipped = len(self), set[int]()
        self.records = step.function(self.records, self._recover(step.operation, skipped))
        if self.records.indexOf(None) >= 0:
            self._remove({row for row, record in enumerate(self.records.toArray()) if record is None})
        filtered = before - len(self) - len(skipped)
        self._errors.step(step.operation).passed(before, len(self), filtered)

    def convert(self, name: str, step: JavaStep) -> None:
        """Fill a column with the bytes that ``step`` makes of each record."""
        skipped: set[int] = set()
        converted = step.function(self.records, self._recover(step.operation, skipped))
        self._columns[name] = bytes_column(converted)
        self._remove(skipped)

    def convert_headers(self, converter: HeadersConverter) -> None:
        """Fill the column of headers, unless no record has some."""
        if not len(self) or not record_functions.have_headers(self.records):
            return
        column = _shared_headers(self.records, converter)
        skipped: set[int] = set()
        if column is None:
            column = []
            for row, record in enumerate(self.records.toArray()):
                convert = partial(_converted_headers, converter, str(record.topic()), record.headers())
                result = self._errors.execute(converter.operation, self._original(row), convert)
                if result is SKIPPED:
                    skipped.add(row)
                column.append(result)
        self._columns["headers"] = column
        self._remove(skipped)

    def topic_batches(self, *, remember: bool) -> Iterator[TopicBatch]:
        """Yield one batch per topic."""
        if not len(self):
            return
        columns = {
            **self._columns,
            "partitions": record_functions.kafka_partitions(self.records),
            "timestamps": record_functions.timestamps(self.records),
        }
        if columns["keys"] == [None] * len(self):
            columns["keys"] = None
        for topic, rows in self._by_topic():
            selected = {name: _selected(column, rows) for name, column in columns.items()}
            places = _selected(self._places, rows) or ()
            sources = self._polled.at(places) if remember else None
            origins = SelectedRecords(self._polled, places)
            yield TopicBatch(topic, **selected, sources=sources, origins=origins)

    def _by_topic(self) -> Iterator[tuple[str, Sequence[int] | None]]:
        """Yield topics with the rows of each; None stands for all."""
        topics = record_functions.topics(self.records)
        if len(topics) == 1:
            yield topics[0], None
            return
        by_topic: dict[str, list[int]] = {}
        for row, topic in enumerate(topics):
            by_topic.setdefault(topic, []).append(row)
        yield from by_topic.items()

    def _recover(self, operation: Operation, skipped: set[int]) -> Recover:
        return recover(self._errors, operation, self._original, skipped)

    def _original(self, row: int) -> SourceRecord:
        record: SourceRecord = self._polled[self._places[row]]
        return record

    def _remove(self, rows: Collection[int]) -> None:
        if not rows:
            return
        self.gone += [self._places[row] for row in rows]
        kept = [row for row in range(len(self)) if row not in rows]
        self._places = [self._places[row] for row in kept]
        self._columns = {name: _selected(column, kept) for name, column in self._columns.items()}
        self.records = without(self.records, rows)


def _shared_headers(records: Any, converter: HeadersConverter) -> list[Any] | None:
    """Return the column of headers, of which equal ones are converted once; None if single rows are needed.

    That is for headers that nearly all differ, or if one fails: row by row, each record that fails is found.
    """
    found = record_functions.distinct_headers(records, _MOST_SHARED)
    if found is None:
        return None
    pairs, places = found
    try:
        converted = [_converted_headers(converter, topic, headers) for topic, headers in pairs]
    except Exception:
        return None
    return [converted[place] for place in places]


def _converted_headers(converter: HeadersConverter, topic: str, headers: Any) -> Any:
    found = python_headers(headers)
    return None if found is None else converter.convert_one(topic, found)


def _selected(column: Sequence[Any] | None, rows: Sequence[int] | None) -> Any:
    return column if column is None or rows is None else [column[row] for row in rows]
