# SPDX-License-Identifier: Apache-2.0
"""Functions that make Java's sink records of consumed columns; each is a function of a row's number.

They are made once for a task, as that takes some milliseconds, and find the columns of a batch in cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from headrace.api.record import TimestampType
from headrace.java.arrays import array_of, booleans, integers, joined_bytes, longs, nulls
from headrace.java.functions import (
    BatchFunction,
    Cell,
    Handle,
    Recover,
    after,
    always,
    array_element,
    constructor,
    if_else,
    method,
    of_same,
    or_else,
)
from headrace.java.instances import HeldInstance
from headrace.java.jvm import java_class

_CONNECT: Final = "org.apache.kafka.connect"
_DATA: Final = f"{_CONNECT}.data.SchemaAndValue"
_OBJECT: Final = "java.lang.Object"
_LIST: Final = "java.util.List"
_SCHEMA: Final = f"{_CONNECT}.data.Schema"
_HEADERS: Final = "java.lang.Iterable"
_STRING: Final = "java.lang.String"
_LONG: Final = "java.lang.Long"
_TYPE: Final = "org.apache.kafka.common.record.TimestampType"
_RECORD: Final = f"{_CONNECT}.sink.SinkRecord"
_CONSUMED: Final = "org.apache.kafka.clients.consumer.ConsumerRecord"
_CONTEXT: Final = f"{_CONNECT}.runtime.errors.ProcessingContext"


class Origins:
    """Topics, partitions and offsets of a batch's records, for functions of a row's number."""

    def __init__(self) -> None:
        self._names, self._topics = Cell(f"{_STRING}[]"), Cell("int[]")
        self._partitions, self._offsets = Cell("int[]"), Cell("long[]")
        self._known_names: list[str] = []
        self._size = 0
        self.rows: Any = None
        """A Java list of the numbers of all rows."""
        self.topic = after(self._topics.element(), self._names.element())
        self.partition = self._partitions.element()
        self.offset = self._offsets.element()

    def fill(self, topics: Sequence[str], partitions: Sequence[int], offsets: Sequence[int]) -> None:
        """Replace the batch."""
        numbers = {topic: number for number, topic in enumerate(dict.fromkeys(topics))}
        if self._known_names != [*numbers]:
            self._known_names = [*numbers]
            self._names.put(array_of(_STRING, self._known_names))
        self._topics.put(integers([numbers[topic] for topic in topics]))
        self._partitions.put(integers(partitions))
        self._offsets.put(longs(offsets))
        if len(topics) != self._size:
            self._size = len(topics)
            self.rows = java_class("java.util.stream.IntStream").range(0, self._size).boxed().toList()


class DataFunction:
    """Converts the keys or the values of a batch to data with schemas. One thread at a time."""

    def __init__(self, converter: HeldInstance, origins: Origins) -> None:
        self._origins = origins
        self._joined, self._ends, self._nulls = Cell("byte[]"), Cell("int[]"), Cell("boolean[]")
        ends = self._ends.element()
        next_end = after(method("java.lang.Math", "incrementExact", "int"), ends)
        copy = self._joined.bound_to(method("java.util.Arrays", "copyOfRange", "byte[]", "int", "int"))
        bytes_of_row = if_else(self._nulls.element(), always("byte[]", None, "int"), of_same(copy, ends, next_end))
        data = of_same(converter.handle("toConnectData", 2), origins.topic, bytes_of_row)
        self._data = BatchFunction(after(data, or_else(java_class(_DATA).NULL)))

    def __call__(self, column: Sequence[bytes | None], recover: Recover) -> Any:
        """Return a Java list of the data of each row, whose topic ``Origins`` have."""
        self._joined.put(joined_bytes(column))
        self._ends.put(integers(accumulate((len(each or b"") for each in column), initial=0)))
        self._nulls.put(booleans(each is None for each in column))
        try:
            return self._data(self._origins.rows, recover)
        finally:
            self._joined.put(None)


class RecordFunction:
    """Makes the records of a batch. One thread at a time."""

    def __init__(self, origins: Origins, types: Sequence[TimestampType]) -> None:
        """``types`` are those of timestamps, by the numbers that rows have for them."""
        self._origins = origins
        self._keys, self._values, self._headers = Cell(_LIST), Cell(_LIST), Cell(f"{_HEADERS}[]")
        self._timestamps, self._types = Cell("long[]"), Cell("int[]")
        self._no_headers = nulls(_HEADERS, 0)
        row = "int"
        made = constructor(
            _RECORD,
            *(_STRING, row, _SCHEMA, _OBJECT, _SCHEMA, _OBJECT, "long", _LONG, _TYPE, _HEADERS),
        )
        type_of_row = self._types.element()
        without_timestamp = [each is TimestampType.NO_TIMESTAMP_TYPE for each in types]
        timestamp = if_else(
            after(type_of_row, array_element("boolean", without_timestamp)),
            always(_LONG, None, row),
            after(self._timestamps.element(), method(_LONG, "valueOf", "long")),
        )
        java_types = array_element(_TYPE, [java_class(_TYPE).valueOf(each.name) for each in types])
        self._records = BatchFunction(
            of_same(
                made,
                origins.topic,
                origins.partition,
                *_schema_and_value(self._keys),
                *_schema_and_value(self._values),
                origins.offset,
                timestamp,
                after(type_of_row, java_types),
                self._headers.element(),
            )
        )

    def __call__(
        self,
        keys: Any,
        values: Any,
        headers: Sequence[Any] | None,
        timestamps: Sequence[tuple[int, int]],
        recover: Recover,
    ) -> Any:
        """Return a Java list of the records of two lists of data; the rest of each row ``Origins`` have.

        ``headers`` has Java lists of headers, which rows may share and each record copies; None for those without any.
        ``timestamps`` are numbers of types, and ms since the epoch.
        """
        self._keys.put(keys)
        self._values.put(values)
        self._headers.put(self._nulls(len(timestamps)) if headers is None else array_of(_HEADERS, headers))
        self._types.put(integers(number for number, _ in timestamps))
        self._timestamps.put(longs(timestamp for _, timestamp in timestamps))
        try:
            return self._records(self._origins.rows, recover)
        finally:
            for each in (self._keys, self._values, self._headers):
                each.put(None)

    def _nulls(self, least: int) -> Any:
        if len(self._no_headers) < least:
            self._no_headers = nulls(_HEADERS, least)
        return self._no_headers


class PutFunction:
    """Makes the records to put of those that were consumed. One thread at a time.

    In place of the consumed key and value they have the batch and the row. The origin is that of the consumed record,
    whatever a transformation has made of the record's own fields.
    """

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._batch, self._records = Cell(_OBJECT), Cell(_LIST)
        origin = of_same(
            constructor(_CONSUMED, _STRING, "int", "long", _OBJECT, _OBJECT),
            origins.topic,
            origins.partition,
            origins.offset,
            self._batch.for_any("int"),
            method("java.lang.Integer", "valueOf", "int"),
        )
        context = after(origin, constructor(_CONTEXT, _OBJECT))
        record = self._records.bound_to(method(_LIST, "get", "int"))
        internal = constructor(f"{_CONNECT}.runtime.InternalSinkRecord", _CONTEXT, _RECORD)
        self._put = BatchFunction(of_same(internal, context, record))

    def __call__(self, records: Any, batch: Any, recover: Recover) -> Any:
        """Return a Java list of what is put for a list of records, whose origins ``Origins`` have."""
        self._batch.put(batch)
        self._records.put(records)
        try:
            return self._put(self._origins.rows, recover)
        finally:
            self._batch.put(None)
            self._records.put(None)


def _schema_and_value(column: Cell) -> tuple[Handle, Handle]:
    element = column.bound_to(method(_LIST, "get", "int"))
    return after(element, method(_DATA, "schema")), after(element, method(_DATA, "value"))
