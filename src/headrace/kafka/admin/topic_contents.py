# SPDX-License-Identifier: Apache-2.0
"""The contents of a topic, for checks of a cluster: read once, from the beginning to the end, and without a trace.

Not by ``kafka.data.topic_reader``: librdkafka's consumers look for the coordinator of their group, whether they join it
or not, and a new cluster creates ``__consumer_offsets`` then. A consumer of kafka-python needs no group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import kafka.errors as kafka_errors
from kafka import KafkaConsumer, TopicPartition

from headrace.kafka.clients.client_config import kafka_python_config
from headrace.kafka.errors import KafkaClientError, RetriableKafkaError
from headrace.model.deadline import Deadline

_POLL_MS: Final = 200


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record of a topic."""

    key: bytes | None
    value: bytes | None
    partition: int
    offset: int


def topic_contents(
    props: Mapping[str, str], topic: str, partitions: Sequence[int], timeout: float
) -> Iterator[StoredRecord]:
    """Yield the committed records of these partitions up to their present ends, in the order of each partition.

    ``props`` are Java-style client properties. Raise RetriableError after ``timeout`` seconds, else ConnectError.
    """
    deadline, limit = Deadline.after(timeout), int(timeout * 1000)
    where = [TopicPartition(topic, partition) for partition in partitions]
    doing = f"reading topic '{topic}'"
    config = {**kafka_python_config(props), "request_timeout_ms": limit, "bootstrap_timeout_ms": limit}
    try:
        consumer = KafkaConsumer(**config, group_id=None, enable_auto_commit=False, isolation_level="read_committed")
        try:
            consumer.assign(where)
            consumer.seek_to_beginning(*where)
            ends = consumer.end_offsets(where)
            while any(consumer.position(each) < ends[each] for each in where):
                if deadline.expired:
                    raise RetriableKafkaError(f"{doing} took longer than {timeout:g} s")
                for records in consumer.poll(timeout_ms=_POLL_MS).values():
                    for each in records:
                        yield StoredRecord(each.key, each.value, each.partition, each.offset)
        finally:
            consumer.close(autocommit=False)
    except kafka_errors.KafkaError as error:
        kind = RetriableKafkaError if getattr(error, "retriable", False) else KafkaClientError
        raise kind(f"{doing} failed: {error}") from error
