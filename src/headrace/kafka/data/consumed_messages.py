# SPDX-License-Identifier: Apache-2.0
"""A batch of consumed messages as columns: one call into the client's C code per column, where Python allows it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, Final

from confluent_kafka import Message

from headrace.api.sink import TopicPartition

RawHeaders = list[tuple[str, bytes | None]]
_BATCH_BYTES: Final = 16 << 20
_SAMPLE: Final = 16


def batch_limit(messages: Sequence[Message]) -> int:
    """Return the limit for a batch of such messages: it is copied a few times, and memory has to stay bounded."""
    sample = messages[:: len(messages) // _SAMPLE + 1]
    size = sum(len(message.value() or b"") + len(message.key() or b"") for message in sample)
    return max(1, _BATCH_BYTES * len(sample) // max(1, size))


class ConsumedMessages:
    """Messages, none of them an error, in the order of each partition.

    ``topic`` and ``partition`` are given if all messages are of the same, which saves a call per message.
    """

    def __init__(self, messages: Sequence[Message], topic: str | None = None, partition: int | None = None) -> None:
        self.messages = messages
        self._topic = topic
        self._partition = partition

    def __len__(self) -> int:
        return len(self.messages)

    @cached_property
    def topics(self) -> list[str]:
        if self._topic is not None:
            return [self._topic] * len(self.messages)
        return _column(Message.topic, self.messages)

    @cached_property
    def partitions(self) -> list[int]:
        if self._partition is not None:
            return [self._partition] * len(self.messages)
        return _column(Message.partition, self.messages)

    @cached_property
    def offsets(self) -> list[int]:
        return _column(Message.offset, self.messages)

    @cached_property
    def keys(self) -> list[bytes | None]:
        return _column(Message.key, self.messages)

    @cached_property
    def values(self) -> list[bytes | None]:
        return _column(Message.value, self.messages)

    @cached_property
    def timestamps(self) -> list[tuple[int, int]]:
        """Kind (0: none, 1: the producer's, 2: the broker's) and ms since the epoch."""
        return _column(Message.timestamp, self.messages)

    @cached_property
    def headers(self) -> list[RawHeaders | None]:
        return _column(Message.headers, self.messages)

    def mean_size(self) -> float | None:
        """Return the mean of the bytes of a message's key and value; None without messages."""
        if not self.messages:
            return None
        return (sum(map(len, filter(None, self.keys))) + sum(map(len, filter(None, self.values)))) / len(self)

    def within(self, partitions: Collection[TopicPartition]) -> ConsumedMessages:
        """Return the messages of ``partitions``."""
        chosen = [place in partitions for place in zip(self.topics, self.partitions, strict=True)]
        return self if all(chosen) else ConsumedMessages(list(compress(self.messages, chosen)))

    @property
    def of_one_topic(self) -> bool:
        return self._topic is not None or len({*self.topics}) <= 1

    def bounds(self) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        """Return the first offset of each partition, and the one after its last."""
        if self._topic is not None and self._partition is not None:
            only = TopicPartition(self._topic, self._partition)
            first, last = _offset(self.messages[0]), _offset(self.messages[-1])
            return {only: first}, {only: last + 1}
        places = list(zip(self.topics, self.partitions, strict=True))
        lasts = dict(zip(places, self.offsets, strict=True))
        firsts = dict(zip(reversed(places), reversed(self.offsets), strict=True))
        ends = {TopicPartition(*place): offset + 1 for place, offset in lasts.items()}
        return {TopicPartition(*place): offset for place, offset in firsts.items()}, ends


def _column(getter: Any, messages: Sequence[Message]) -> list[Any]:
    return list(map(getter, messages))


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset
