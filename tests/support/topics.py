# SPDX-License-Identifier: Apache-2.0
"""What a read_committed consumer sees of a topic, to its very end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.support.polling import wait_for


@dataclass(frozen=True)
class Read:
    """A record as the consumer got it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp: int


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
            "fetch.wait.max.ms": 10,  # an end is told by a fetch that finds nothing more
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        # A topic that is still written to may never be found at its end: what is there now is enough.
        ends = {partition: _end(consumer, TopicPartition(topic, partition)) for partition in partitions}
        records, ended = [], set()
        while len(ended) < len(partitions):
            for message in consumer.consume(2_000, timeout=0.1):
                error = message.error()
                if error is None:
                    records.append(
                        Read(
                            message.partition(),
                            message.offset(),
                            message.key(),
                            message.value(),
                            message.headers() or [],
                            message.timestamp()[1],
                        )
                    )
                    if message.offset() + 1 >= ends[message.partition()]:
                        ended.add(message.partition())
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                elif error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
                    return []
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()
    return sorted(records, key=lambda r: (r.partition, r.offset))


def _end(consumer: Consumer, partition: TopicPartition) -> int:
    """The high watermark; a broker that has just come back needs a moment to lead its partitions."""
    asked: list[KafkaException] = []

    def told() -> tuple[int, int] | None:
        try:
            return consumer.get_watermark_offsets(partition, timeout=30)
        except KafkaException as error:
            if error.args[0].code() not in (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE):
                raise
            asked.append(error)
            return None

    return wait_for(told, 30, lambda: f"a leader of {partition}: {asked[-1]}")[1]


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
