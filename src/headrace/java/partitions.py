# SPDX-License-Identifier: Apache-2.0
"""Partitions of topics and consumer offsets, from Python to Java and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from headrace.api.sink import OffsetAndMetadata, TopicPartition
from headrace.java.jvm import java_class

_PARTITION: Final = "org.apache.kafka.common.TopicPartition"
_OFFSET: Final = "org.apache.kafka.clients.consumer.OffsetAndMetadata"
Offsets = Mapping[TopicPartition, OffsetAndMetadata]


@lru_cache(maxsize=1024)
def java_partition(topic: str, partition: int) -> Any:
    """Return Java's ``TopicPartition``."""
    return java_class(_PARTITION)(topic, partition)


def python_partition(partition: Any) -> TopicPartition:
    """Return the partition that a Java ``TopicPartition`` is."""
    return TopicPartition(str(partition.topic()), int(partition.partition()))


def java_partitions(partitions: Iterable[TopicPartition], kind: str = "java.util.ArrayList") -> Any:
    """Return a Java collection, which the receiver may change."""
    result = java_class(kind)()
    for each in partitions:
        result.add(java_partition(*each))
    return result


def java_offsets(offsets: Offsets) -> Any:
    """Return a Java map, which the receiver may change."""
    result = java_class("java.util.HashMap")()
    for partition, offset in offsets.items():
        result.put(java_partition(*partition), _java_offset(offset))
    return result


def committed_offsets(offsets: Mapping[TopicPartition, int]) -> Any:
    """Return a Java map of offsets without metadata, which the receiver may change."""
    return java_offsets({partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()})


def python_offsets(offsets: Any) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets of a Java map; none if it is null."""
    entries = offsets.entrySet() if offsets is not None else ()
    return {python_partition(each.getKey()): _python_offset(each.getValue()) for each in entries}


def _java_offset(offset: OffsetAndMetadata) -> Any:
    optional, epoch = java_class("java.util.Optional"), offset.leader_epoch
    given = optional.empty() if epoch is None else optional.of(java_class("java.lang.Integer").valueOf(epoch))
    return java_class(_OFFSET)(offset.offset, given, offset.metadata)


def _python_offset(offset: Any) -> OffsetAndMetadata:
    epoch = offset.leaderEpoch()
    given = int(epoch.get()) if epoch.isPresent() else None
    return OffsetAndMetadata(int(offset.offset()), str(offset.metadata()), given)
