# SPDX-License-Identifier: Apache-2.0
"""Reading of a topic's raw records for people to look at: without a group, and without a commit.

Only committed records are read, whatever the properties say. A partition's end is its last stable offset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from headrace.api.errors import ConnectError
from headrace.api.record import TimestampType
from headrace.kafka.data.assigned_consumer import AssignedConsumer, Fetched
from headrace.kafka.errors import connect_error
from headrace.model.deadline import Deadline
from headrace.model.raw_record import RawRecord

_POLL_S: Final = 0.5
_LEAST_TIMEOUT_S: Final = 0.1
_WIDER: Final = 4
_FOR_LOOKING: Final = {
    "isolation.level": "read_committed",
    "enable.auto.commit": "false",
    "auto.offset.reset": "none",
    "allow.auto.create.topics": "false",
    "queued.max.messages.kbytes": "8192",
}
_UNKNOWN: Final = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}
_TIMESTAMP_TYPES: Final = {
    TIMESTAMP_CREATE_TIME: TimestampType.CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME: TimestampType.LOG_APPEND_TIME,
}


class UnknownTopicError(ConnectError):
    """The topic does not exist."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The end of a read: so many records, so many bytes of them (one record may exceed it), or this deadline."""

    records: int
    bytes: int
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """Records of a topic, in each partition's order, and the `positions` by partition to read on from.

    `at_end` is True if there were no more records when the read ended.
    """

    records: tuple[RawRecord, ...]
    positions: Mapping[int, int]
    at_end: bool


class TopicReader:
    """A consumer of one topic. One thread, in whose process it is made; close it.

    `props` are Java's consumer properties. Errors: RetriableError for what may pass, else ConnectError.
    """

    def __init__(self, props: Mapping[str, str], topic: str) -> None:
        self._topic = topic
        without_group = {name: value for name, value in props.items() if not name.startswith("group.")}
        without_group.pop("partition.assignment.strategy", None)
        self._consumer = AssignedConsumer({**without_group, **_FOR_LOOKING}, topic)

    def partitions(self, deadline: Deadline) -> list[int]:
        """Return the topic's partitions. Raise UnknownTopicError if it does not exist; it is not created."""
        try:
            found = self._consumer.client.list_topics(self._topic, max(deadline.remaining(), _LEAST_TIMEOUT_S))
        except KafkaException as error:
            raise connect_error(error, f"describing topic {self._topic}") from error
        described = found.topics[self._topic]
        if described.error is not None and described.error.code() in _UNKNOWN:
            raise UnknownTopicError(f"Topic {self._topic} does not exist")
        if described.error is not None:
            raise connect_error(described.error, f"describing topic {self._topic}")
        return sorted(described.partitions)

    def bounds(self, partitions: Iterable[int], deadline: Deadline) -> dict[int, tuple[int, int]]:
        """Return the first offset and the end of each of these partitions."""
        return {partition: self._bounds(partition, deadline) for partition in partitions}

    def at_time(self, timestamp: int, partitions: Iterable[int], deadline: Deadline) -> dict[int, int]:
        """Return, of each of these partitions, the offset of the first record of this time (ms) or later.

        Of a partition without such a record it is the end. Java: ``Consumer.offsetsForTimes``.
        """
        bounds = self.bounds(partitions, deadline)
        # Brokers take negative times for "the first" and "the last".
        wanted = [TopicPartition(self._topic, partition, max(timestamp, 0)) for partition in bounds]
        doing = f"looking up a time in {self._topic}"
        try:
            found = self._consumer.client.offsets_for_times(wanted, max(deadline.remaining(), _LEAST_TIMEOUT_S))
        except KafkaException as error:
            raise connect_error(error, doing) from error
        for each in found:
            if each.error is not None:
                raise connect_error(each.error, doing)
        return {each.partition: each.offset if each.offset >= 0 else bounds[each.partition][1] for each in found}

    def read(self, positions: Mapping[int, int], limits: ReadLimits, *, follow: bool = False) -> ReadRecords:
        """Return records from `positions`, until a limit or the ends of all partitions.

        With `follow` it waits at the ends until there is a record. A position outside of its partition is moved to the
        nearer bound.
        """
        bounds = self.bounds(positions, limits.deadline)
        progress = _Progress({p: min(max(positions[p], low), max(low, high)) for p, (low, high) in bounds.items()})
        records: list[RawRecord] = []
        left = limits.bytes
        for record in self._fetch(progress, limits.deadline):
            if record is not None:
                records.append(record)
                left -= record.size
            if len(records) >= limits.records or left <= 0 or (progress.at_end() and (records or not follow)):
                break
        return ReadRecords(tuple(records), dict(progress.positions), progress.at_end())

    def tail(self, partitions: Iterable[int], limits: ReadLimits) -> ReadRecords:
        """Return the newest records, at most `limits.records` of all partitions together, as their timestamps say.

        Markers of transactions, aborted records and compaction leave gaps, so it looks further back until there are
        enough records. At the deadline it returns what it has found, with `at_end` False if there may be newer ones.
        """
        bounds = self.bounds(partitions, limits.deadline)
        back = max(limits.records, 1)
        while True:
            begin = {p: max(low, high - back) for p, (low, high) in bounds.items()}
            last = self._newest(begin, {p: high for p, (_, high) in bounds.items()}, limits)
            everything = all(begin[p] == low for p, (low, _) in bounds.items())
            if everything or len(last.records) >= limits.records or limits.deadline.expired:
                return last
            back *= _WIDER

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _bounds(self, partition: int, deadline: Deadline) -> tuple[int, int]:
        doing = f"reading the offsets of {self._topic}-{partition}"
        try:
            where = TopicPartition(self._topic, partition)
            timeout = max(deadline.remaining(), _LEAST_TIMEOUT_S)
            offsets = self._consumer.client.get_watermark_offsets(where, timeout=timeout)
            found: tuple[int, int] | None = cast("Any", offsets)
        except KafkaException as error:
            raise connect_error(error, doing) from error
        if found is None:  # it timed out
            raise connect_error(KafkaError(KafkaError._TIMED_OUT), doing)
        return found

    def _newest(self, begin: Mapping[int, int], ends: Mapping[int, int], limits: ReadLimits) -> ReadRecords:
        kept = {partition: _Newest(limits) for partition in begin}
        progress = _Progress(dict(begin))
        progress.ended.update(p for p in begin if begin[p] >= ends[p])
        if not progress.at_end():
            for record in self._fetch(progress, limits.deadline):
                if record is not None and record.partition is not None:
                    if progress.positions[record.partition] >= ends[record.partition]:
                        progress.ended.add(record.partition)
                    if record.offset is not None and record.offset < ends[record.partition]:
                        kept[record.partition].add(record)
                if progress.at_end():
                    break
        positions = {p: ends[p] if p in progress.ended else at for p, at in progress.positions.items()}
        return ReadRecords(
            _merged([each.records for each in kept.values()], limits.records), positions, progress.at_end()
        )

    def _fetch(self, progress: _Progress, deadline: Deadline) -> Iterator[RawRecord | None]:
        """Yield records until the deadline, and None where a partition's end or nothing came; `progress` is kept up."""
        try:
            self._consumer.assign(progress.positions)
            while not deadline.expired:
                fetched = next(self._consumer.fetch(1, min(deadline.remaining(), _POLL_S)), None)
                yield progress.take(fetched) if fetched is not None else None
        finally:
            self._consumer.unassign()


@dataclass(frozen=True, slots=True)
class _Progress:
    """The positions of a read, and the partitions whose end it has reached."""

    positions: dict[int, int]
    ended: set[int] = field(default_factory=set)

    def take(self, fetched: Fetched) -> RawRecord | None:
        """Continue to after what was fetched; return it if it is a record. What is deleted is an end, too."""
        if fetched.position is not None:
            self.positions[fetched.partition] = fetched.position
        if fetched.message is None:
            self.ended.add(fetched.partition)
            return None
        self.ended.discard(fetched.partition)
        return _raw_record(fetched.message)

    def at_end(self) -> bool:
        return len(self.ended) == len(self.positions)


class _Newest:
    """The newest records of a partition within the limits."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._size = 0
        self.records: deque[RawRecord] = deque()

    def add(self, record: RawRecord) -> None:
        self.records.append(record)
        self._size += record.size
        while len(self.records) > 1 and (len(self.records) > self._limits.records or self._size > self._limits.bytes):
            self._size -= self.records.popleft().size


def _merged(of_partitions: Sequence[deque[RawRecord]], limit: int) -> tuple[RawRecord, ...]:
    """Return the newest records of all partitions, oldest first; those of one partition stay in their order."""
    newest: list[RawRecord] = []
    while len(newest) < limit and any(of_partitions):
        last = max(filter(None, of_partitions), key=lambda records: records[-1].timestamp or 0)
        newest.append(last.pop())
    return tuple(reversed(newest))


def _raw_record(message: Message) -> RawRecord:
    kind, timestamp = message.timestamp()
    timestamp_type = _TIMESTAMP_TYPES.get(kind, TimestampType.NO_TIMESTAMP_TYPE)
    return RawRecord(
        message.topic() or "",
        message.partition(),
        message.offset(),
        timestamp if timestamp_type is not TimestampType.NO_TIMESTAMP_TYPE else None,
        timestamp_type,
        message.key(),
        message.value(),
        tuple(message.headers() or ()),  # type: ignore[arg-type]
    )
