# SPDX-License-Identifier: Apache-2.0
"""Records as a Java sink task is given them: each one knows the record that was consumed.

In Java that is what ``InternalSinkRecord`` is for, which passes it on to records that are made of it, and tasks rely on
it: Debezium's JDBC sink keeps offsets of such records only. For any other record its ``preCommit`` returns the offset
behind a batch that it has failed to write (invariant 9).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

from headrace.api.errors import ConnectError
from headrace.api.record import SinkRecord
from headrace.java.arrays import WORTH_COLUMNS
from headrace.java.columns_to_records import java_sink_records
from headrace.java.consumed_functions import Origins, PutFunction
from headrace.java.errors import python_error
from headrace.java.jvm import java_class, jpype
from headrace.java.records import JavaContents, java_sink_record, python_sink_record

_RUNTIME: Final = "org.apache.kafka.connect.runtime"
_putting: Final = threading.Lock()
"""Held while records are made to be put: tasks of a process share the functions."""


class _PutBatch:
    """The records of one ``put``, as Java's records hold them."""

    def __init__(self, record: Callable[[Any, int], SinkRecord]) -> None:
        self.record = record

    def get(self) -> None:
        """Have the interface that Java knows the batch by."""


class PutRecords(Sequence[SinkRecord]):
    """Records to put that are Java's; each is Python's where it is asked for. Task's thread, but for reports."""

    def __init__(self, java: Any, python_record: Callable[[Any, int], SinkRecord]) -> None:
        """``java`` is a Java list of what is put; ``python_record`` makes Python's of a record and its place."""
        self._python_record = python_record
        self.java = java

    def __len__(self) -> int:
        return int(self.java.size())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._python_record(self.java.get(place), place)


def put_batch(python_record: Callable[[Any, int], SinkRecord]) -> Any:
    """Return what Java's records hold in place of the consumed key, by which ``put_record`` finds Python's."""
    return jpype().JProxy(_types().supplier, inst=_PutBatch(python_record), convert=True)


def java_put_records(records: Sequence[SinkRecord]) -> Any:
    """Return a new Java list of records for ``put``."""
    array_list = java_class("java.util.ArrayList")
    if isinstance(records, PutRecords):
        return array_list(records.java)
    batch = put_batch(lambda _, place: records[place])
    if len(records) >= WORTH_COLUMNS and not any(isinstance(each, JavaContents) for each in records):
        with suppress(ConnectError):
            # One of them that cannot be converted is found one by one.
            return _as_columns(records, batch)
    return array_list(java_class("java.util.Arrays").asList(_one_by_one(records, batch)))


def _as_columns(records: Sequence[SinkRecord], batch: Any) -> Any:
    java = java_class("java.util.Arrays").asList(java_sink_records(records))
    with _putting:
        origins, put = _put_functions()
        origins.fill(
            [each.original_topic for each in records],
            [each.original_kafka_partition or 0 for each in records],
            [each.original_kafka_offset for each in records],
        )
        return put(java, batch, not_expected)


@functools.cache
def _put_functions() -> tuple[Origins, PutFunction]:
    origins = Origins()
    return origins, PutFunction(origins)


def _one_by_one(records: Sequence[SinkRecord], batch: Any) -> list[Any]:
    types, put = _types(), list[Any]()
    for place, record in enumerate(records):
        # Python may be unable to hold what is in a record that was made in Java.
        if isinstance(record, JavaContents) and hasattr(record, "java"):
            put.append(record.java)
            continue
        java = java_sink_record(record)
        where = record.original_topic, record.original_kafka_partition or 0, record.original_kafka_offset
        put.append(types.internal(types.context(types.consumed(*where, batch, types.integer(place))), java))
    return put


def not_expected(row: int, error: Any, again: Callable[[], Any]) -> Any:
    """Raise the error of a function that makes Java's records, which has no reason to fail."""
    raise python_error(error, "Java's sink records")


def put_record(java: Any) -> SinkRecord:
    """Return the record that was put. One that the task has made by itself is converted, as in Java."""
    if isinstance(java, _types().internal):
        origin = java.context().original()
        batch: _PutBatch = origin.key()
        return batch.record(java, int(origin.value()))
    return python_sink_record(java)


@functools.cache
def _types() -> SimpleNamespace:
    return SimpleNamespace(
        consumed=java_class("org.apache.kafka.clients.consumer.ConsumerRecord"),
        context=java_class(f"{_RUNTIME}.errors.ProcessingContext"),
        integer=java_class("java.lang.Integer"),
        internal=java_class(f"{_RUNTIME}.InternalSinkRecord"),
        supplier=java_class("java.util.function.Supplier"),
    )
