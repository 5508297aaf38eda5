# SPDX-License-Identifier: Apache-2.0
"""The membership of a consumer in its group, and the offsets that the group has committed."""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import Final

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as Position

from headrace.api.errors import ConnectError
from headrace.api.sink import ConsumerGroupMetadata, TopicPartition
from headrace.kafka.errors import connect_error

_FORMAT: Final = b"CGMDv2:"
_GENERATION: Final = struct.Struct("=i")


def group_metadata(client: Consumer) -> ConsumerGroupMetadata:
    """Return the membership that the client has now; in no generation, with generation -1 and no member id."""
    return parse_group_metadata(client.consumer_group_metadata())


def parse_group_metadata(written: bytes) -> ConsumerGroupMetadata:
    """Return what librdkafka has written in its own format (``rd_kafka_consumer_group_metadata_write``).

    Raise ConnectError for another format.
    """
    try:
        if not written.startswith(_FORMAT):
            raise ValueError("it begins otherwise")
        fields = written.removeprefix(_FORMAT)
        (generation,) = _GENERATION.unpack_from(fields)
        group, member, instance = fields[_GENERATION.size :].split(b"\0", 2)
        # A byte says whether there is an instance id: 1 if not.
        static = instance[1:].rstrip(b"\0").decode() if instance[:1] == b"\0" else None
        return ConsumerGroupMetadata(group.decode(), generation, member.decode(), static)
    except (ValueError, struct.error) as error:
        raise ConnectError(f"Membership in a consumer group cannot be read from {written!r}: {error}") from error


def committed_offsets(
    client: Consumer, partitions: Collection[TopicPartition], timeout: float
) -> dict[TopicPartition, int]:
    """Return the group's committed offsets of those partitions that have one, within ``timeout`` seconds.

    Offsets of a transaction that is not complete are awaited. Raise what ``connect_error`` returns.
    """
    if not partitions:
        return {}
    try:
        found = client.committed([Position(*where) for where in partitions], timeout=timeout)
    except KafkaException as error:
        raise connect_error(error, "reading committed offsets") from error
    return {TopicPartition(each.topic, each.partition): each.offset for each in found if each.offset >= 0}
