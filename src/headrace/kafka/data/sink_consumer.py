# SPDX-License-Identifier: Apache-2.0
"""The consumer of a sink task: batches, rebalances, pauses, seeks and commits."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from confluent_kafka import OFFSET_END, OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Position

from headrace.api.errors import ConnectError
from headrace.api.sink import ConsumerGroupMetadata, TopicPartition
from headrace.kafka.clients.client_config import unusable_properties_error
from headrace.kafka.clients.client_logs import LIBRDKAFKA_LOG
from headrace.kafka.data.client_statistics import ClientStatistics, StableEnds
from headrace.kafka.data.consumed_messages import ConsumedMessages, batch_limit
from headrace.kafka.data.group_membership import committed_offsets, group_metadata
from headrace.kafka.data.poll_keeper import PollKeeper
from headrace.kafka.data.rebalance_listener import RebalanceListener
from headrace.kafka.data.sink_consumer_config import assigns_incrementally, max_poll_interval, sink_consumer_config
from headrace.kafka.errors import AUTHORIZATION_CODES, RetriableKafkaError, connect_error, is_retriable
from headrace.model.deadline import Deadline

_REQUEST_TIMEOUT_S: Final = 10.0
_METADATA_TIMEOUT_S: Final = 5.0
_INTERNAL_TOPICS: Final = {"__consumer_offsets", "__transaction_state", "__share_group_state"}
_KEEP_ALIVE_POLL_S: Final = 0.01
_GROUPS_TOPIC: Final = "__consumer_offsets"
"""A topic that is there, since the brokers create it themselves: they would be asked for any other every second."""
_FIRST_BATCH: Final = 16
_TRANSIENT_CODES: Final = frozenset(
    {KafkaError._MAX_POLL_EXCEEDED, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION}
)
_SEEK_RETRY_S: Final = 0.01

Commit = tuple[dict[TopicPartition, int], ConnectError | None]


class SinkConsumer:
    """A sink task's consumer. Used by the task's thread only; made in the task's process (after its fork).

    RetriableKafkaError for what may pass, AuthorizationError and KafkaClientError for what lasts.
    """

    def __init__(
        self,
        props: Mapping[str, str],
        statistics: ClientStatistics | None = None,
        on_error: Callable[[ConnectError], None] = lambda error: None,
    ) -> None:
        """``on_error`` is called with errors that may pass, within ``consume`` or a rebalance."""
        self._on_error = on_error
        self._brokers_down: KafkaError | None = None
        callbacks = {"on_commit": self._on_commit, "error_cb": self._on_client_error}
        config = {**sink_consumer_config(props), **callbacks, "logger": LIBRDKAFKA_LOG}
        self._stable_ends = StableEnds() if config["isolation.level"] == "read_committed" else None
        if self._stable_ends is not None:
            config |= (statistics or ClientStatistics()).of_consumer(self._stable_ends.update)
        elif statistics is not None:
            config |= statistics.of_consumer()
        self._listener: RebalanceListener | None = None
        self._incremental = assigns_incrementally(config)
        self.assignment: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()
        self._revoked: set[TopicPartition] = set()
        self._begun: dict[TopicPartition, int] = {}
        """The offsets that assigned partitions began at; none of those whose begin was left to the client."""
        self._failure: Exception | None = None
        self._commits: deque[Commit] = deque()
        self._kept_alive = False
        self._batch_limit = _FIRST_BATCH
        self._keeper = PollKeeper(self._keep_alive, max_poll_interval(config) / 4)
        self._wanted_paused: Callable[[], Collection[TopicPartition]] = frozenset
        try:
            self.client = Consumer(config)
        except (KafkaException, ValueError) as error:
            raise unusable_properties_error(error, props, "consumer") from error

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Keep the membership during a block that may outlast ``max.poll.interval.ms``; rebalances wait for its end."""
        try:
            with self._keeper:
                yield
        finally:
            if self._kept_alive:
                self._kept_alive = False
                self.apply_pauses()

    def subscribe(self, topics: Sequence[str], listener: RebalanceListener) -> None:
        """Subscribe to these topics and no others; to none if ``topics`` is empty."""
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
        """Return up to ``limit`` messages, fewer large ones, as soon as there are some; none after ``timeout`` seconds.

        Raises what a listener has raised, and errors of the client that last.
        """
        self._revoked.clear()
        messages = self._consume(min(limit, self._batch_limit), timeout)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if self._brokers_down is not None:
            down, self._brokers_down = self._brokers_down, None
            self._on_error(_may_pass(down, "consuming"))
        if any(map(Message.error, messages)):
            messages = [message for message in messages if not self._is_error(message)]
        if messages:
            self._batch_limit = batch_limit(messages)
        if self._revoked and messages:
            return self._without_revoked(ConsumedMessages(messages))
        return ConsumedMessages(messages, *self._single_source())

    def existing(self, topics: Sequence[str] | None) -> set[str]:
        """Return those of ``topics`` that exist, all but Kafka's own if None.

        AuthorizationError for a topic that the principal may not describe.
        """
        found: set[str] = set()
        try:
            for asked in [None] if topics is None else topics:
                listed = (
                    self.client.list_topics(asked, _METADATA_TIMEOUT_S)
                    if asked
                    else self.client.list_topics(timeout=_METADATA_TIMEOUT_S)
                )
                for name, topic in listed.topics.items():
                    if topic.error is None:
                        found.add(name)
                    elif topics is not None and topic.error.code() in AUTHORIZATION_CODES:
                        raise connect_error(topic.error, f"reading topic {name}")
        except KafkaException as error:
            raise connect_error(error, "asking which topics there are") from error
        return found - _INTERNAL_TOPICS

    def pause_whenever(self, wanted: Callable[[], Collection[TopicPartition]]) -> None:
        """Set the function that returns the partitions to pause; ``apply_pauses`` calls it. Any thread may set it."""
        self._wanted_paused = wanted

    def apply_pauses(self) -> None:
        """Pause and resume partitions by the function given to ``pause_whenever``."""
        self._set_paused(self._wanted_paused())

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Seek to ``offsets``. Blocks until the partitions are fetched at all, a moment after their assignment."""
        deadline = Deadline.after(_REQUEST_TIMEOUT_S)
        for where, offset in offsets.items():
            while not self._try_seek(where, offset, deadline):
                time.sleep(_SEEK_RETRY_S)

    def commit_async(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets without waiting; ``take_commits`` returns the outcome."""
        try:
            self._keeper.call_on_poller(lambda: self.client.commit(offsets=_positions(offsets), asynchronous=True))
        except KafkaException as error:
            self._commits.append((dict(offsets), connect_error(error, "committing offsets")))

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets, and wait until it is done."""
        try:
            positions = _positions(offsets)
            answered = (
                self._keeper.call_on_poller(lambda: self.client.commit(offsets=positions, asynchronous=False)) or ()
            )
        except KafkaException as error:
            raise connect_error(error, "committing offsets") from error
        for position in answered:
            if position.error is not None:
                raise connect_error(position.error, f"committing the offset of {position.topic}-{position.partition}")

    def take_commits(self) -> list[Commit]:
        """Return the outcomes of ``commit_async`` since the last call: the offsets, and the error if there was one."""
        return [self._commits.popleft() for _ in range(len(self._commits))]

    def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the group's committed offsets of those partitions that have one."""
        return self._keeper.call_on_poller(lambda: committed_offsets(self.client, partitions, _REQUEST_TIMEOUT_S))

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return the consumer's membership in its group, without a request."""
        return self._keeper.call_on_poller(lambda: group_metadata(self.client))

    def end_offset(self, where: TopicPartition) -> int | None:
        """Return the end of an assigned partition up to which records can be read; None while it is not known.

        No request is made: it is that of the last fetch, or of the last statistics if only committed records are read.
        """
        if self._stable_ends is not None:
            return self._stable_ends.of(where)
        _, high = self.client.get_watermark_offsets(Position(*where), cached=True)
        return high if high >= 0 else None

    def positions(self) -> dict[TopicPartition, int]:
        """Return where the next read of assigned partitions begins: after markers and aborted records, too.

        Partitions of which nothing was read since they were assigned or sought in are left out.
        """
        known = self.client.position([Position(*where) for where in self.assignment])
        return {TopicPartition(each.topic, each.partition): each.offset for each in known if each.offset >= 0}

    def brokers_answer(self, timeout: float) -> bool:
        """Return True if the leaders of all assigned partitions answer within ``timeout`` seconds.

        It takes a request to each of them; without partitions, to any broker.
        """
        try:
            if not self.assignment:
                self.client.list_topics(_GROUPS_TOPIC, timeout)
                return True
            asked = [Position(*where, OFFSET_END) for where in self.assignment]
            return all(end.error is None for end in self.client.offsets_for_times(asked, timeout))
        except KafkaException:
            return False

    def close(self) -> None:
        """Leave the group. The listener is not called any more."""
        self._listener = None
        self._keeper.close()
        with suppress(KafkaException, RuntimeError):
            self.client.close()

    # ---- consuming

    def _single_source(self) -> tuple[str | None, int | None]:
        """Return the topic and the partition of all messages, each None if there may be several."""
        if len(self.assignment) == 1:
            [where] = self.assignment
            return where.topic, where.partition
        topics = {where.topic for where in self.assignment}
        return (topics.pop() if len(topics) == 1 else None), None

    def _consume(self, limit: int, timeout: float) -> list[Message]:
        """Return a batch without waiting for more once there is a first message."""
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
        """Return True for an error event; raise it if it lasts."""
        error = message.error()
        if error is None:
            return False
        if error.code() == KafkaError._PARTITION_EOF:
            return True
        what = f"consuming from topic {message.topic()}" if message.topic() else "consuming"
        if not is_retriable(error) and error.code() not in _TRANSIENT_CODES:
            raise connect_error(error, what)
        self._on_error(_may_pass(error, what))
        return True

    def _on_client_error(self, error: KafkaError) -> None:
        """Note that all brokers are lost, on whichever thread polls; one broker may also close an idle connection."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._brokers_down = error

    def _without_revoked(self, batch: ConsumedMessages) -> ConsumedMessages:
        """Drop the messages of partitions that a rebalance has revoked within the batch.

        They are delivered again: here, by a seek, if the partition is assigned again, else to another member.
        """
        rest = batch.within(self.assignment - self._revoked)
        if rest is not batch:
            reassigned = batch.within(self.assignment & self._revoked)
            if reassigned:
                # The first one may have been consumed before the rebalance, and the new assignment begin before it.
                self.seek({where: self._begun.get(where, first) for where, first in reassigned.bounds()[0].items()})
        return rest

    def _try_seek(self, where: TopicPartition, offset: int, deadline: Deadline) -> bool:
        try:
            self._keeper.call_on_poller(lambda: self.client.seek(Position(where.topic, where.partition, offset)))
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

        self._keeper.call_on_poller(set_paused)

    def _keep_alive(self) -> None:
        """Poll on the keeper's thread, with all partitions paused; a message that arrives is read again by a seek."""
        self._kept_alive = True
        self._set_paused(self.assignment)
        # Not 0: only a poll that waits is one during which librdkafka does not count the time since the last poll.
        message = self.client.poll(_KEEP_ALIVE_POLL_S)
        if message is not None and message.error() is None:
            self._keep_failure(lambda: self.seek(ConsumedMessages([message]).bounds()[0]))

    # ---- rebalances

    def _on_assign(self, _: Consumer, positions: list[Position]) -> None:
        self._keeper.run_on_owner(lambda: self._assign(_topic_partitions(positions)))

    def _on_revoke(self, _: Consumer, positions: list[Position]) -> None:
        listener = self._listener
        self._keeper.run_on_owner(
            lambda: self._unassign(_topic_partitions(positions), listener.revoked if listener else None)
        )

    def _on_lost(self, _: Consumer, positions: list[Position]) -> None:
        listener = self._listener
        self._keeper.run_on_owner(
            lambda: self._unassign(_topic_partitions(positions), listener.lost if listener else None)
        )

    def _assign(self, partitions: list[TopicPartition]) -> None:
        listener = self._listener
        begin = {} if listener is None else self._committed(partitions)
        self.assignment.update(partitions)
        if listener is not None:
            self._keep_failure(lambda: begin.update(listener.assigned(partitions, dict(begin))))
        self._begun = {where: offset for where, offset in self._begun.items() if where not in partitions} | begin
        positions = [Position(where.topic, where.partition, begin.get(where, OFFSET_INVALID)) for where in partitions]
        assign = self.client.incremental_assign if self._incremental else self.client.assign
        self._keep_failure(lambda: self._keeper.call_on_poller(lambda: assign(positions)))
        self._paused.difference_update(partitions)
        self.apply_pauses()

    def _unassign(
        self, partitions: list[TopicPartition], notify: Callable[[Sequence[TopicPartition]], None] | None
    ) -> None:
        if partitions and notify is not None:
            self._keep_failure(lambda: notify(partitions))
        self._revoked.update(partitions)
        # A pause would outlast the assignment in the client.
        self._set_paused(self._paused.difference(partitions))
        positions = [Position(*where) for where in partitions]
        unassign = (lambda: self.client.incremental_unassign(positions)) if self._incremental else self.client.unassign
        self._keep_failure(lambda: self._keeper.call_on_poller(unassign))
        self.assignment.difference_update(partitions)

    def _committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the group's committed offsets; empty, which leaves them to the client, if they cannot be read now."""
        try:
            return self.committed(partitions)
        except ConnectError as error:
            self._on_error(error)
            return {}

    def _keep_failure(self, call: Callable[[], object]) -> None:
        """Keep an exception for the next ``consume``: the client would swallow it, or crash of it."""
        try:
            call()
        except Exception as error:
            self._failure = self._failure or error

    def _on_commit(self, error: KafkaError | None, positions: list[Position]) -> None:
        failed = error or next((each.error for each in positions if each.error is not None), None)
        offsets = {TopicPartition(each.topic, each.partition): each.offset for each in positions}
        self._commits.append((offsets, None if failed is None else connect_error(failed, "committing offsets")))


def _may_pass(error: KafkaError, what: str) -> RetriableKafkaError:
    return RetriableKafkaError(f"{what}: {error.str()} ({error.name()})")


def _positions(offsets: Mapping[TopicPartition, int]) -> list[Position]:
    return [Position(where.topic, where.partition, offset) for where, offset in offsets.items()]


def _topic_partitions(positions: Sequence[Position]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in positions]
