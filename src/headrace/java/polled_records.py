# SPDX-License-Identifier: Apache-2.0
"""Records that a Java source task has polled.

Only the offset of a batch's last record of each source partition is committed. So a source offset stays Java's until it
is asked for: to convert it and the source partition takes longer than all the rest of a record. Records of one batch
that follow each other share an equal source partition, by which the runtime finds the last ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from headrace.api.record import SourceRecord
from headrace.java.data import python_value
from headrace.java.records import contents

_NOT_ASKED_FOR: Any = object()


class PolledRecord(SourceRecord):
    """A record with the Java record that it was made of, which `commitRecord` is called with."""

    __slots__ = ("_offset", "java")

    java: Any

    def __init__(self, java: Any, source_partition: Mapping[str, Any] | None) -> None:
        self.java = java
        self.source_partition = source_partition
        self._offset = _NOT_ASKED_FOR
        (
            self.topic,
            self.kafka_partition,
            self.key_schema,
            self.key,
            self.value_schema,
            self.value,
            self.timestamp,
            self._headers,
        ) = contents(java)

    @property
    def source_offset(self) -> Mapping[str, Any] | None:  # type: ignore[override]
        """The map to continue at. Raise DataError if Python cannot hold it."""
        if self._offset is _NOT_ASKED_FOR:
            self._offset = python_value(None, self.java.sourceOffset())
        offset: Mapping[str, Any] | None = self._offset
        return offset

    def _copy(self) -> Self:
        copy = object.__new__(type(self))
        copy.java, copy._offset = self.java, self._offset
        copy.source_partition = self.source_partition
        copy.topic = self.topic
        copy.kafka_partition = self.kafka_partition
        copy.key_schema = self.key_schema
        copy.key = self.key
        copy.value_schema = self.value_schema
        copy.value = self.value
        copy.timestamp = self.timestamp
        return copy


def polled_records(java_records: Iterable[Any]) -> list[SourceRecord]:
    """Return the records of one poll. Raise DataError if Python cannot hold one."""
    records: list[SourceRecord] = []
    last, partition = None, None
    for java in java_records:
        source_partition = java.sourcePartition()
        if source_partition is None:
            last = partition = None
        elif last is None or not source_partition.equals(last):
            last, partition = source_partition, python_value(None, source_partition)
        records.append(PolledRecord(java, partition))
    return records
