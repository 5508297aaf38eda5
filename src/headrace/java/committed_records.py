# SPDX-License-Identifier: Apache-2.0
"""The calls of a task's `commitRecord` for many records, within the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headrace.api.source import RecordMetadata
from headrace.java.arrays import integers, longs
from headrace.java.functions import (
    Cell,
    after,
    call,
    caught,
    constructor,
    for_each_number,
    method,
    of_same,
    with_values,
)
from headrace.java.instances import HeldInstance
from headrace.java.jvm import java_class
from headrace.java.partitions import java_partition

Place = tuple[int, int, int, int | None]
"""Of a record that is in Kafka: its index in its batch, its partition, offset and timestamp."""
_LIST: Final = "java.util.List"
_METADATA: Final = "org.apache.kafka.clients.producer.RecordMetadata"
_PARTITION: Final = "org.apache.kafka.common.TopicPartition"
_UNKNOWN: Final = -1
"""Java's number for a timestamp or a size that is not known."""


class CommittedRecords:
    """Calls a Java task's `commitRecord` for many records with one call of Java. One thread at a time."""

    def __init__(self, task: HeldInstance) -> None:
        self._records, self._partitions = Cell(_LIST), Cell(_LIST)
        self._rows, self._numbers, self._offsets, self._timestamps = map(Cell, ("int[]", "int[]", "long[]", "long[]"))
        get = method(_LIST, "get", "int")
        record = after(self._rows.element(), self._records.bound_to(get))
        partition = after(self._numbers.element(), self._partitions.bound_to(get))
        metadata = of_same(record_metadata(), partition, self._offsets.element(), self._timestamps.element())
        self._commit = caught(for_each_number(of_same(task.handle("commitRecord", 2), record, metadata)))

    def commit(self, topic: str, records: Any, places: Sequence[Place]) -> None:
        """Call it for records of a Java list, in the order of their places. Raise what it throws."""
        rows, partitions, offsets, timestamps = zip(*places, strict=True)
        numbers = {partition: number for number, partition in enumerate(dict.fromkeys(partitions))}
        self._records.put(records)
        self._partitions.put(java_class("java.util.ArrayList")([java_partition(topic, each) for each in numbers]))
        self._rows.put(integers(rows))
        self._numbers.put(integers([numbers[each] for each in partitions]))
        self._offsets.put(longs(offsets))
        self._timestamps.put(longs([_UNKNOWN if each is None else each for each in timestamps]))
        try:
            call(self._commit, java_class("java.lang.Integer")(len(rows)))
        finally:
            self._records.put(None)


def java_metadata(metadata: RecordMetadata) -> Any:
    """Return the metadata of one record as Java's."""
    where = java_partition(metadata.topic, metadata.partition)
    timestamp = _UNKNOWN if metadata.timestamp is None else metadata.timestamp
    return java_class(_METADATA)(where, metadata.offset, 0, timestamp, _UNKNOWN, _UNKNOWN)


def record_metadata() -> Any:
    """Return the function that makes a record's metadata of its partition, its offset and its timestamp."""
    made = constructor(_METADATA, _PARTITION, "long", "int", "long", "int", "int")
    # Base offset, index in the batch, timestamp, and the sizes of key and value.
    return with_values(made, {2: 0, 4: _UNKNOWN, 5: _UNKNOWN})
