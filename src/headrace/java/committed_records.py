# SPDX-License-Identifier: Apache-2.0
"""The calls of a task's `commitRecord` for many records, within the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headrace.api.source import RecordMetadata
from headrace.java.functions import (
    after,
    array_element,
    as_interface,
    call,
    constructor,
    for_each,
    method,
    of_same,
    with_values,
)
from headrace.java.instances import HeldInstance
from headrace.java.jvm import java_class
from headrace.java.partitions import java_partition

Place = tuple[int, int, int, int | None]
"""Of a record that is in Kafka: its index in its batch, its partition, offset and timestamp."""
_INTEGERS: Final = "java.util.stream.IntStream"
_METADATA: Final = "org.apache.kafka.clients.producer.RecordMetadata"
_PARTITION: Final = "org.apache.kafka.common.TopicPartition"
_UNKNOWN: Final = -1
"""Java's number for a timestamp or a size that is not known."""


def commit_in_java(task: HeldInstance, topic: str, records: Any, places: Sequence[Place]) -> None:
    """Call a Java task's `commitRecord` for records of a Java list, in their order within each partition."""
    by_partition: dict[int, list[Place]] = {}
    for place in places:
        by_partition.setdefault(place[1], []).append(place)
    for partition, found in by_partition.items():
        rows, _, offsets, timestamps = zip(*found, strict=True)
        times = [_UNKNOWN if timestamp is None else timestamp for timestamp in timestamps]
        metadata = of_same(
            record_metadata(topic, partition), array_element("long", offsets), array_element("long", times)
        )
        record = after(array_element("int", rows), method("java.util.List", "get", "int").bindTo(records))
        commit = of_same(task.handle("commitRecord", 2), record, metadata)
        numbers = java_class(_INTEGERS).range(0, len(found))
        call(for_each(_INTEGERS, "IntConsumer"), numbers, as_interface("IntConsumer", commit))


def java_metadata(metadata: RecordMetadata) -> Any:
    """Return the metadata of one record as Java's."""
    where = java_partition(metadata.topic, metadata.partition)
    timestamp = _UNKNOWN if metadata.timestamp is None else metadata.timestamp
    return java_class(_METADATA)(where, metadata.offset, 0, timestamp, _UNKNOWN, _UNKNOWN)


def record_metadata(topic: str, partition: int) -> Any:
    """Return the function that makes a record's metadata of its offset and its timestamp."""
    made = constructor(_METADATA, _PARTITION, "long", "int", "long", "int", "int")
    # Base offset, index in the batch, timestamp, and the sizes of key and value.
    return with_values(made, {0: java_partition(topic, partition), 2: 0, 4: _UNKNOWN, 5: _UNKNOWN})
