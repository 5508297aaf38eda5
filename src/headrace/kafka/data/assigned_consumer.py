# SPDX-License-Identifier: Apache-2.0
"""A consumer of one topic without a group: partitions and positions are given, and the ends of partitions reported.

``topic_reader`` and ``range_reader`` read through it, and decide when a read ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headrace.kafka.clients import client_config
from headrace.kafka.errors import connect_error, is_retriable

# The client looks for the coordinator of its group, which is not used.
_OF_NO_CONCERN: Final = {KafkaError.GROUP_AUTHORIZATION_FAILED}


class Fetched(NamedTuple):
    """A record, or the report of a partition's end if ``message`` is None.

    ``position`` is after the record, or after the markers of transactions at the end. It is None if the records at the
    position are deleted, which ``auto.offset.reset=none`` reports as an end.
    """

    partition: int
    position: int | None
    message: Message | None


class AssignedConsumer:
    """A consumer that joins no group and commits nothing. One thread, in whose process it is made; close it.

    Errors: RetriableError for what may pass, else ConnectError.
    """

    def __init__(self, props: Mapping[str, str], topic: str) -> None:
        """``props`` are Java's consumer properties. A ``group.id`` is only for what others do with ``client``."""
        self.client: Consumer = client_config.consumer({**props, "enable.partition.eof": "true"})
        self._topic = topic
        self._doing = f"reading topic {topic}"

    def assign(self, positions: Mapping[int, int]) -> None:
        """Read these partitions, from these offsets; no others any more."""
        try:
            self.client.assign([TopicPartition(self._topic, p, offset) for p, offset in positions.items()])
        except KafkaException as error:
            raise connect_error(error, self._doing) from error

    def unassign(self) -> None:
        """Read no partition any more."""
        self.client.unassign()

    def fetch(self, count: int, timeout: float) -> Iterator[Fetched]:
        """Yield what came within ``timeout`` seconds: records and reports of ends, ``count`` at most."""
        try:
            messages = self.client.consume(count, timeout)
        except KafkaException as error:
            raise connect_error(error, self._doing) from error
        for message in messages:
            if (fetched := self._fetched(message)) is not None:
                yield fetched

    def close(self) -> None:
        """Close the consumer."""
        self.client.close()

    def _fetched(self, message: Message) -> Fetched | None:
        """Return None for an error that passes."""
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is None:
            assert partition is not None and offset is not None
            return Fetched(partition, offset + 1, message)
        if error.code() == KafkaError._PARTITION_EOF and partition is not None:
            return Fetched(partition, offset if offset is not None and offset >= 0 else None, None)
        if error.code() == KafkaError._AUTO_OFFSET_RESET and partition is not None:
            return Fetched(partition, None, None)
        if not is_retriable(error) and error.code() not in _OF_NO_CONCERN:
            raise connect_error(error, self._doing)
        return None
