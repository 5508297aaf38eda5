# SPDX-License-Identifier: Apache-2.0
"""A reader of ranges of a topic's partitions, up to ends that were there when the reading began.

Not for looking, as ``topic_reader`` is: a transaction commits the positions, so each is that of the range that was
asked for, and what cannot be read within a minute is an error, never an end.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, Message
from confluent_kafka import TopicPartition as Position

from headrace.api.sink import TopicPartition
from headrace.kafka.clients import client_config
from headrace.kafka.data.assigned_consumer import AssignedConsumer, Fetched
from headrace.kafka.errors import RetriableKafkaError, connect_error
from headrace.model.deadline import Deadline

_POLL_S: Final = 0.2
_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.1


class Range(NamedTuple):
    """The offsets of a partition from ``begin`` up to, and without, ``end``."""

    begin: int
    end: int


def stable_offsets(props: Mapping[str, str], topic: str, partitions: Iterable[int]) -> dict[int, int]:
    """Return the offsets that the group of a consumer with ``props`` has committed, for partitions that have one.

    With ``isolation.level=read_committed`` it waits for transactions that commit such offsets to end. Not through an
    admin client: librdkafka's ends the whole process, by a segmentation fault, where the group's coordinator moves.
    """
    doing = f"reading the offsets of group '{props['group.id']}'"
    deadline = Deadline.after(_PATIENCE_S)
    with closing(client_config.consumer(props)) as consumer:
        asked = [Position(topic, partition) for partition in partitions]
        while asked:
            try:
                found = consumer.committed(asked, _PATIENCE_S / 2)
                failed = next((each.error for each in found if each.error is not None), None)
                if failed is None:
                    return {each.partition: each.offset for each in found if each.offset >= 0}
                failure = connect_error(failed, doing)
            except KafkaException as error:
                failure = connect_error(error, doing)
            if not isinstance(failure, RetriableKafkaError) or deadline.expired:
                raise failure
            time.sleep(_PAUSE_S)
    return {}


class RangeReader:
    """Reads what is committed of some ranges of one topic, in the order of each partition. For one thread; close it.

    Raise RetriableKafkaError if nothing can be read for a minute, another KafkaClientError for what lasts.
    """

    def __init__(self, props: Mapping[str, str], topic: str, ranges: Mapping[int, Range]) -> None:
        """``props`` are a consumer's, with ``isolation.level`` and a group that is never joined."""
        self._topic = topic
        self._ends = {partition: range.end for partition, range in ranges.items() if range.begin < range.end}
        self._positions = {partition: ranges[partition].begin for partition in self._ends}
        # An end is reported by a fetch that finds nothing more.
        self._consumer = AssignedConsumer({**props, "fetch.max.wait.ms": "50"}, topic)
        self._consumer.assign(self._positions)
        self._open = set(self._ends)

    @property
    def client(self) -> Consumer:
        """The consumer of whose group a transaction commits the positions."""
        return self._consumer.client

    def positions(self) -> dict[TopicPartition, int]:
        """Return the offset after all that was read of each partition; its range's end if all was."""
        return {TopicPartition(self._topic, partition): offset for partition, offset in self._positions.items()}

    def read(self, count: int) -> list[Message]:
        """Return the next messages, ``count`` at most; none only at the end of all ranges."""
        deadline = Deadline.after(_PATIENCE_S)
        found: list[Message] = []
        while self._open and not found:
            for fetched in self._consumer.fetch(count, _POLL_S):
                self._take(fetched, found)
            if not found and self._open and deadline.expired:
                raise RetriableKafkaError(f"reading topic {self._topic}: no record came for {_PATIENCE_S:g} s")
        return found

    def close(self) -> None:
        self._consumer.close()

    def _take(self, fetched: Fetched, found: list[Message]) -> None:
        partition, position, message = fetched
        if partition not in self._open or position is None:
            return
        end = self._ends[partition]
        if message is not None and position <= self._positions[partition]:
            # The partition has lost its end, and the consumer was sent back to the first record.
            return
        if message is not None and position <= end:
            found.append(message)
            self._positions[partition] = position
        # The report of a partition's end may be before the range's end: a new leader can have a lower high watermark
        # for a moment, and records follow.
        if position >= end:
            self._positions[partition] = end
            self._open.discard(partition)
