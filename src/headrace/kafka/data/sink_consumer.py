# SPDX-License-Identifier: Apache-2.0
"""The consumer of a sink task: batches out of Kafka, partitions that come and go, offsets back into Kafka."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Position

from headrace.api.errors import ConnectError
from headrace.api.sink import TopicPartition
from headrace.kafka.clients.client_config import LIBRDKAFKA_LOG, consumer_config, unusable
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.kafka.data.poll_keeper import PollKeeper
from headrace.kafka.errors import AUTHORIZATION_CODES, connect_error, is_retriable
from headrace.model.deadline import Deadline

_log = logging.getLogger(__name__)
_BLOCKING: Final = 10.0
_METADATA: Final = 5.0
_INTERNAL: Final = {"__consumer_offsets", "__transaction_state", "__share_group_state"}
_KEEPERS_POLL: Final = 0.01
_BATCH_BYTES: Final = 16 << 20
_SAMPLE: Final = 16
_SEEK_RETRY: Final = 0.01
# Java's consumer asks again as soon as there is room, and holds little; librdkafka waits for a second, and holds 64 MB.
_DEFAULTS: Final = {
    "fetch.queue.backoff.ms": 5,
    "queued.max.messages.kbytes": 32_768,
    "partition.assignment.strategy": "range",
}
_INCREMENTAL: Final = "cooperative-sticky"

Commit = tuple[dict[TopicPartition, int], ConnectError | None]


class RebalanceListener(Protocol):
    """Called on the thread that uses the consumer, within ``consume`` or a ``busy`` block's end.

    What it raises comes out of the next ``consume``.
    """

    def assigned(
        self, partitions: Sequence[TopicPartition], committed: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """These are new. The answer overrides where to begin; ``committed`` or ``auto.offset.reset`` decides else."""

    def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """These go; offsets can still be committed."""

    def lost(self, partitions: Sequence[TopicPartition]) -> None:
        """These are somebody else's already."""


class SinkConsumer:
    """Used by the task's thread only; made in the task's process (after its fork).

    RetriableKafkaError for what may pass, AuthorizationError and KafkaClientError for what will not.
    """

    def __init__(self, props: Mapping[str, str]) -> None:
        config = {**_DEFAULTS, **consumer_config(props), "on_commit": self._on_commit, "logger": LIBRDKAFKA_LOG}
        self._listener: RebalanceListener | None = None
        self._incremental = (
            config["partition.assignment.strategy"] == _INCREMENTAL or config.get("group.protocol") == "consumer"
        )
        self.assignment: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()
        self._gone: set[TopicPartition] = set()
        self._failure: Exception | None = None
        self._commits: deque[Commit] = deque()
        self._told: set[str] = set()
        self._kept_alive = False
        self._fitting = _SAMPLE
        interval = int(config.get("max.poll.interval.ms", 300_000)) / 1000
        self._keeper = PollKeeper(self._keep_alive, interval / 4)
        self._wanted_paused: Callable[[], Collection[TopicPartition]] = frozenset
        try:
            self.client = Consumer(_without_conflicts(config))
        except (KafkaException, ValueError) as error:
            raise unusable(error, props, "consumer") from error

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Around whatever may take longer than ``max.poll.interval.ms``. Rebalances wait for the block's end."""
        try:
            with self._keeper:
                yield
        finally:
            if self._kept_alive:
                self._kept_alive = False
                self.apply_pauses()

    def subscribe(self, topics: Sequence[str], listener: RebalanceListener) -> None:
        """From now on these topics and no others; none is allowed too."""
        self._listener = listener
        callbacks = {"on_assign": self._on_assign, "on_revoke": self._on_revoke, "on_lost": self._on_lost}
        try:
            if topics:
                self.client.subscribe(list(topics), **callbacks)
            else:
                self.client.unsubscribe()
        except KafkaException as error:
            raise connect_error(error, f"subscribing to {', '.join(topics)}") from error

    def consume(self, limit: int, timeout: float) -> ConsumedMessages:
        """Up to ``limit`` messages, fewer large ones, as soon as there are some; none after ``timeout`` seconds."""
        self._gone.clear()
        messages = self._consume(min(limit, self._fitting), timeout)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if any(map(Message.error, messages)):
            messages = [message for message in messages if not self._is_error(message)]
        if messages:
            self._fitting = _fitting(messages)
        if self._gone and messages:
            return self._without_gone(ConsumedMessages(messages))
        return ConsumedMessages(messages, *self._only())

    def existing(self, topics: Sequence[str] | None) -> set[str]:
        """Those of ``topics`` that exist; all but Kafka's own if None. AuthorizationError for a hidden one."""
        found: set[str] = set()
        try:
            for asked in [None] if topics is None else topics:
                listed = (
                    self.client.list_topics(asked, _METADATA) if asked else self.client.list_topics(timeout=_METADATA)
                )
                for name, topic in listed.topics.items():
                    if topic.error is None:
                        found.add(name)
                    elif topics is not None and topic.error.code() in AUTHORIZATION_CODES:
                        raise connect_error(topic.error, f"reading topic {name}")
        except KafkaException as error:
            raise connect_error(error, "asking which topics there are") from error
        return found - _INTERNAL

    def pause_whenever(self, wanted: Callable[[], Collection[TopicPartition]]) -> None:
        """``wanted`` tells which partitions are to deliver nothing; ``apply_pauses`` asks it. Any thread may."""
        self._wanted_paused = wanted

    def apply_pauses(self) -> None:
        """Pause and resume what has to be, by what ``pause_whenever`` was given."""
        self._set_paused(self._wanted_paused())

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Go on there. Blocks until the partitions are being read at all, which takes a moment after an assignment."""
        deadline = Deadline.after(_BLOCKING)
        for where, offset in offsets.items():
            while not self._sought(where, offset, deadline):
                time.sleep(_SEEK_RETRY)

    def commit_async(self, offsets: Mapping[TopicPartition, int]) -> None:
        """``take_commits`` will tell how it went."""
        try:
            self._keeper.on_poller(lambda: self.client.commit(offsets=_positions(offsets), asynchronous=True))
        except KafkaException as error:
            self._commits.append((dict(offsets), connect_error(error, "committing offsets")))

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Blocks until the offsets are committed."""
        try:
            positions = _positions(offsets)
            answered = self._keeper.on_poller(lambda: self.client.commit(offsets=positions, asynchronous=False)) or ()
        except KafkaException as error:
            raise connect_error(error, "committing offsets") from error
        for position in answered:
            if position.error is not None:
                raise connect_error(position.error, f"committing the offset of {position.topic}-{position.partition}")

    def take_commits(self) -> list[Commit]:
        """Answers to ``commit_async`` since this was asked last: the offsets, and the error if there was one."""
        return [self._commits.popleft() for _ in range(len(self._commits))]

    def close(self) -> None:
        """Leave the group. The listener is not called any more."""
        self._listener = None
        self._keeper.close()
        with suppress(KafkaException, RuntimeError):
            self.client.close()

    # ---- consuming

    def _only(self) -> tuple[str | None, int | None]:
        """The topic and the partition that all messages are of, where that is known."""
        if len(self.assignment) == 1:
            [where] = self.assignment
            return where.topic, where.partition
        topics = {where.topic for where in self.assignment}
        return (topics.pop() if len(topics) == 1 else None), None

    def _consume(self, limit: int, timeout: float) -> list[Message]:
        """A batch is never waited for once there is a first message."""
        try:
            messages: list[Message] = self.client.consume(limit, 0)
            if not messages:
                first = self.client.poll(timeout)
                if first is not None:
                    messages = [first] if limit == 1 else [first, *self.client.consume(limit - 1, 0)]
        except KafkaException as error:
            raise connect_error(error, "consuming") from error
        return messages

    def _is_error(self, message: Message) -> bool:
        """Whether it is one; raises what will not pass, and says once what may."""
        error = message.error()
        if error is None:
            return False
        if error.code() == KafkaError._PARTITION_EOF:
            return True
        what = f"consuming from topic {message.topic()}" if message.topic() else "consuming"
        if not is_retriable(error) and error.code() not in _PASSING:
            raise connect_error(error, what)
        text = f"{what}: {error.str()} ({error.name()})"
        if text not in self._told:
            self._told.add(text)
            _log.warning("%s; going on", text)
        return True

    def _without_gone(self, batch: ConsumedMessages) -> ConsumedMessages:
        """A rebalance fell within the batch: what its partitions had before it, they will deliver again, or others."""
        rest = batch.within(self.assignment - self._gone)
        if rest is not batch:
            again = batch.within(self.assignment & self._gone)
            if again:
                self.seek(again.bounds()[0])
        return rest

    def _sought(self, where: TopicPartition, offset: int, deadline: Deadline) -> bool:
        try:
            self._keeper.on_poller(lambda: self.client.seek(Position(where.topic, where.partition, offset)))
        except KafkaException as error:
            if error.args[0].code() == KafkaError._STATE and deadline.remaining() > 0:
                return False
            raise connect_error(error, f"seeking to offset {offset} of {where}") from error
        return True

    # ---- pausing

    def _set_paused(self, wanted: Collection[TopicPartition]) -> None:
        def set_paused() -> None:
            wished = self.assignment.intersection(wanted)
            pause, resume = wished - self._paused, self._paused - wished
            self._paused = wished
            with suppress(KafkaException):
                if pause:
                    self.client.pause([Position(*where) for where in pause])
                if resume:
                    self.client.resume([Position(*where) for where in resume])

        self._keeper.on_poller(set_paused)

    def _keep_alive(self) -> None:
        """On the keeper's thread. What it gets all the same is not lost: it is read again."""
        self._kept_alive = True
        self._set_paused(self.assignment)
        # Not 0: only a poll that waits is one during which librdkafka does not count the time since the last poll.
        message = self.client.poll(_KEEPERS_POLL)
        if message is not None and message.error() is None:
            self._guarded(lambda: self.seek(ConsumedMessages([message]).bounds()[0]))

    # ---- rebalances

    def _on_assign(self, _: Consumer, positions: list[Position]) -> None:
        self._keeper.on_owner(lambda: self._assign(_places(positions)))

    def _on_revoke(self, _: Consumer, positions: list[Position]) -> None:
        listener = self._listener
        self._keeper.on_owner(lambda: self._unassign(_places(positions), listener.revoked if listener else None))

    def _on_lost(self, _: Consumer, positions: list[Position]) -> None:
        listener = self._listener
        self._keeper.on_owner(lambda: self._unassign(_places(positions), listener.lost if listener else None))

    def _assign(self, partitions: list[TopicPartition]) -> None:
        listener = self._listener
        begin = {} if listener is None else self._committed(partitions)
        self.assignment.update(partitions)
        if listener is not None:
            self._guarded(lambda: begin.update(listener.assigned(partitions, dict(begin))))
        positions = [Position(where.topic, where.partition, begin.get(where, OFFSET_INVALID)) for where in partitions]
        assign = self.client.incremental_assign if self._incremental else self.client.assign
        self._guarded(lambda: self._keeper.on_poller(lambda: assign(positions)))
        self._paused.difference_update(partitions)
        self.apply_pauses()

    def _unassign(
        self, partitions: list[TopicPartition], tell: Callable[[Sequence[TopicPartition]], None] | None
    ) -> None:
        if partitions and tell is not None:
            self._guarded(lambda: tell(partitions))
        self._gone.update(partitions)
        # A pause would outlast the assignment in the client.
        self._set_paused(self._paused.difference(partitions))
        gone = [Position(*where) for where in partitions]
        unassign = (lambda: self.client.incremental_unassign(gone)) if self._incremental else self.client.unassign
        self._guarded(lambda: self._keeper.on_poller(unassign))
        self.assignment.difference_update(partitions)

    def _committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Where the group goes on; left to the client where that cannot be found out now."""
        if not partitions:
            return {}
        try:
            asked = [Position(*where) for where in partitions]
            found = self._keeper.on_poller(lambda: self.client.committed(asked, timeout=_BLOCKING))
        except KafkaException as error:
            _log.warning("%s", connect_error(error, "reading committed offsets"))
            return {}
        return {TopicPartition(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def _guarded(self, call: Callable[[], object]) -> None:
        """The client would swallow an exception, or crash of it."""
        try:
            call()
        except Exception as error:
            self._failure = self._failure or error

    def _on_commit(self, error: KafkaError | None, positions: list[Position]) -> None:
        failed = error or next((each.error for each in positions if each.error is not None), None)
        offsets = {TopicPartition(each.topic, each.partition): each.offset for each in positions}
        self._commits.append((offsets, None if failed is None else connect_error(failed, "committing offsets")))


_PASSING: Final = frozenset(
    {KafkaError._MAX_POLL_EXCEEDED, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION}
)


def _fitting(messages: Sequence[Message]) -> int:
    """How many such messages are enough: a batch is copied a few times on its way, and memory has to stay bounded."""
    sample = messages[:: len(messages) // _SAMPLE + 1]
    size = sum(len(message.value() or b"") + len(message.key() or b"") for message in sample)
    return max(1, _BATCH_BYTES * len(sample) // max(1, size))


def _positions(offsets: Mapping[TopicPartition, int]) -> list[Position]:
    return [Position(where.topic, where.partition, offset) for where, offset in offsets.items()]


def _places(positions: Sequence[Position]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in positions]


def _without_conflicts(config: dict[str, object]) -> dict[str, object]:
    """The group protocol of KIP-848 assigns on the broker, and knows none of these."""
    if config.get("group.protocol") != "consumer":
        return config
    unknown = ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms")
    return {name: value for name, value in config.items() if name not in unknown}
