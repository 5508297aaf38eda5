# SPDX-License-Identifier: Apache-2.0
"""Records that a Java source task has polled: Java's own, each converted where Python asks for what is in it.

A batch whose transformations and converters are all Java's never becomes Python's records (`record_functions`). Of the
others, only the offset of the last record of each source partition is asked for.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Self

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.java.arrays import WORTH_COLUMNS
from headrace.java.data import python_value
from headrace.java.functions import method
from headrace.java.jvm import java_class
from headrace.java.kinds import TooManyKindsError, by_kind
from headrace.java.record_columns import column_contents
from headrace.java.records import PARTS

_SOURCE_RECORD: Final = "org.apache.kafka.connect.source.SourceRecord"
_NOT_ASKED_FOR: Any = object()


class PolledRecord(SourceRecord):
    """A record of the Java record `java`, which `commitRecord` is called with.

    Reading a part raises DataError if Python cannot hold the data. `contents` is that of the record's poll.
    """

    __slots__ = ("_contents", "_offset", "java")

    java: Any

    def __init__(self, java: Any, source_partition: Mapping[str, Any] | None, contents: _Contents) -> None:
        self.java = java
        self.source_partition = source_partition
        self._contents: _Contents | None = contents
        self._offset = _NOT_ASKED_FOR

    def fill(self, parts: Iterable[Any]) -> None:
        """Set all parts, none of which has been asked for yet."""
        for part, value in zip(PARTS, parts, strict=True):
            setattr(self, part, value)
        self._contents = None

    @property
    def is_untouched(self) -> bool:
        """True if no part has been asked for yet."""
        return self._contents is not None

    def __getattr__(self, name: str) -> Any:
        """Return a part that is read for the first time; it is converted with others, or by itself."""
        part = PARTS.get(name)
        if part is None:
            raise AttributeError(name)
        if self._contents is not None:
            contents, self._contents = self._contents, None
            if contents.fill(self):
                return getattr(self, name)
        value = part(self.java)
        setattr(self, name, value)
        return value

    @property
    def source_offset(self) -> Mapping[str, Any] | None:  # type: ignore[override]
        """The map to continue at."""
        if self._offset is _NOT_ASKED_FOR:
            self._offset = python_value(None, self.java.sourceOffset())
        offset: Mapping[str, Any] | None = self._offset
        return offset

    def new_record(self, *parts: Any, **named: Any) -> Self:
        """Return a record of the same origin with other contents; with all of them, these are not asked for."""
        # Headers that are None are those of this record.
        if len(parts) < len(PARTS) or parts[-1] is None or not self.is_untouched:
            return super().new_record(*parts, **named)
        record = self._of_same_origin()
        record.fill(parts)
        return record

    def _of_same_origin(self) -> Self:
        copy = object.__new__(type(self))
        copy.java, copy._offset, copy._contents = self.java, self._offset, None
        copy.source_partition = self.source_partition
        return copy

    def _copy(self) -> Self:
        copy = self._of_same_origin()
        copy.topic = self.topic
        copy.kafka_partition = self.kafka_partition
        copy.key_schema = self.key_schema
        copy.key = self.key
        copy.value_schema = self.value_schema
        copy.value = self.value
        copy.timestamp = self.timestamp
        return copy


class _Contents:
    """Converts what is in the records of a poll: of the first that is asked for by itself, then of all as columns.

    Of a batch that stays in Java, reports ask for single ones.
    """

    def __init__(self, polled: PolledRecords) -> None:
        # It is theirs: a circle would keep the batch until the next collection of garbage.
        self._polled = weakref.ref(polled)
        self._one_by_one = len(polled) < WORTH_COLUMNS
        self._asked = False

    def fill(self, asked: PolledRecord) -> bool:
        """Set the parts of a record that is asked for, and of all that are untouched; False if they are left alone."""
        polled = self._polled() if self._asked and not self._one_by_one else None
        self._asked = True
        if polled is None:
            return False
        # One of them that cannot be converted is found when it is asked for.
        self._one_by_one = True
        with suppress(ConnectError):
            for record, parts in zip(polled.all(), column_contents(polled.java), strict=True):
                if record is asked or record.is_untouched:
                    record.fill(parts)
            return True
        return False


class PolledRecords(Sequence[SourceRecord]):
    """The records of one poll; `java` is Java's list of them. Task's thread only."""

    def __init__(self, java: Any) -> None:
        """`java` is any list; it is copied."""
        self.java = java_class("java.util.ArrayList")(java)
        self._size = int(self.java.size())
        self._records: list[PolledRecord] | None = None

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        """Return a record, always the same object, or some of them: those that follow one another as a batch again."""
        if not isinstance(index, slice):
            return self.all()[index]
        start, stop, step = index.indices(self._size)
        if step != 1:
            return self.all()[index]
        if (start, stop) == (0, self._size):
            return self
        part = PolledRecords(self.java.subList(start, max(start, stop)))
        part._records = None if self._records is None else self._records[start:stop]
        return part

    def at(self, places: Sequence[int]) -> PolledRecords:
        """Return those at some places as a batch."""
        if len(places) == self._size:
            return self
        java = self.java.toArray()
        return PolledRecords([java[place] for place in places])

    def __iter__(self) -> Iterator[SourceRecord]:
        return iter(self.all())

    def all(self) -> list[PolledRecord]:
        """Return all records. Not a copy: do not change it."""
        if self._records is None:
            self._records = _records(self.java, _Contents(self))
        return self._records


def _records(java_records: Any, contents: _Contents) -> list[PolledRecord]:
    """Return records; those that follow one another share an equal source partition.

    By that the runtime finds the last records of each.
    """
    partitions = _source_partitions(java_records)
    return [
        PolledRecord(java, partition, contents)
        for java, partition in zip(java_records.toArray(), partitions, strict=True)
    ]


def _source_partitions(java_records: Any) -> list[Mapping[str, Any] | None]:
    """Return the source partition of each record. Raise DataError if Python cannot hold one."""
    if not java_records.size():
        return []
    try:
        return by_kind(java_records, method(_SOURCE_RECORD, "sourcePartition"), _repeated)
    except TooManyKindsError:
        partitions: list[Mapping[str, Any] | None] = []
        last, partition = None, None
        for java in java_records.toArray():
            source_partition = java.sourcePartition()
            if last is None or source_partition is None or not source_partition.equals(last):
                last, partition = source_partition, python_value(None, source_partition)
            partitions.append(partition)
        return partitions


def _repeated(source_partition: Any) -> Callable[[Any], list[Any]]:
    partition = python_value(None, source_partition)
    return lambda column: [partition] * int(column.size())
