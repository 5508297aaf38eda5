# SPDX-License-Identifier: Apache-2.0
"""What a read_committed consumer sees of a topic, to its very end."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from tests.support.polling import wait_for

_MOMENT = 0.5  # seconds


@dataclass(frozen=True)
class Read:
    """A record as the consumer got it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp: int


def replace_topic(bootstrap: str, topic: TopicSpec) -> None:
    """Delete a topic and create another; a broker may have created one meanwhile, for a client that writes to it."""
    client, admin = AdminClient({"bootstrap.servers": bootstrap}), TopicAdmin({"bootstrap.servers": bootstrap})

    def created() -> object:
        with suppress(KafkaException):
            client.delete_topics([topic.name])[topic.name].result(30)
        return admin.create_topics([topic])

    wait_for(created, 30, f"another topic {topic.name}")
    admin.close()


def read_committed(bootstrap: str, topic: str) -> list[Read]:
    """All visible records, partition by partition, up to each partition's end as it is now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "headrace-tests-reader",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,  # an end is reported by a fetch that finds nothing more
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        # A topic that is still written to may never be found at its end: what is there now is enough.
        ends = {partition: _end(consumer, TopicPartition(topic, partition)) for partition in partitions}
        records, over = [], dict[int, float]()  # a partition is read to its end from that time on
        while len(over) < len(partitions) or time.monotonic() < max(over.values(), default=0):
            for message in consumer.consume(2_000, timeout=0.1):
                left = ends.get(message.partition(), 0) - (message.offset() or 0)
                match message.error().code() if message.error() else None:
                    case None:
                        records.append(read(message))
                        over[message.partition()] = 0 if left <= 1 else float("inf")
                    case KafkaError._PARTITION_EOF:
                        # Of a transaction that was committed just now the end may come a moment later.
                        over[message.partition()] = time.monotonic() + _MOMENT * (left > 0)
                    case KafkaError.UNKNOWN_TOPIC_OR_PART | KafkaError._UNKNOWN_PARTITION:
                        return []
                    case _:
                        raise KafkaException(message.error())
    finally:
        consumer.close()
    return sorted(records, key=lambda r: (r.partition, r.offset))


def read(message: Any) -> Read:
    """The record of a message without an error."""
    place = message.partition(), message.offset()
    return Read(*place, message.key(), message.value(), message.headers() or [], message.timestamp()[1])


def _end(consumer: Consumer, partition: TopicPartition) -> int:
    """The high watermark; a broker that has just come back needs a moment to lead its partitions."""

    def found() -> tuple[int, int] | None:
        with suppress(KafkaException):
            return consumer.get_watermark_offsets(partition, timeout=30)
        return None

    return wait_for(found, 30, f"a leader of {partition}")[1]


def values(bootstrap: str, topic: str) -> list[bytes | None]:
    """The values of a topic of one partition, in order."""
    return [record.value for record in read_committed(bootstrap, topic)]


def wait_for_values(bootstrap: str, topic: str, count: int, seconds: float = 60) -> list[bytes | None]:
    """The values, as soon as there are ``count`` or more."""
    seen: list[bytes | None] = []

    def enough() -> bool:
        seen[:] = values(bootstrap, topic)
        return len(seen) >= count

    wait_for(enough, seconds, lambda: f"{count} records in {topic}: {len(seen)} are there, the last {seen[-1:]}")
    return seen


def committed_offsets(bootstrap: str, offsets_topic: str, connector: str) -> dict[str, Any]:
    """The connector's source offsets as the offsets topic holds them: partition as JSON text to offset."""
    offsets: dict[str, Any] = {}
    for record in read_committed(bootstrap, offsets_topic):
        name, *partition = json.loads(record.key or b"[null]")
        if name == connector and partition:
            offsets[json.dumps(partition[0], sort_keys=True)] = json.loads(record.value) if record.value else None
    return offsets
