# SPDX-License-Identifier: Apache-2.0
"""A topic that all workers read from its start and any of them writes: shared state by replay.

Java: ``org.apache.kafka.connect.util.KafkaBasedLog``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicDescription, TopicSpec
from headrace.kafka.clients import client_config
from headrace.kafka.data.record_sender import RecordSender
from headrace.kafka.errors import (
    AUTHORIZATION_CODES,
    UNREADABLE_CODES,
    KafkaClientError,
    RetriableKafkaError,
    connect_error,
)
from headrace.kafka.log.end_waiters import EndWaiters
from headrace.kafka.log.topic_identity import TopicIdentity, TopicLostError
from headrace.model.backoff import ExponentialBackoff

log = logging.getLogger(__name__)

_BATCH = 1000
_LONG_S = 1.0
"""Seconds that the first read of a topic has to take to be worth a line at INFO."""
_IDLE_WAIT = 0.05  # bounds how stale positions can be where nothing but transaction markers arrived
_QUIET_AFTER = 1.0
"""Seconds without a record or partition end after which markers are unlikely: an end comes half a second after one."""
_QUIET_WAIT = 0.2  # each wait costs a worker CPU, and ``stop`` lasts as long as one
_DESCRIBE_INTERVAL = 5.0
"""Seconds between two descriptions of the topic, which show its deletion and new partitions."""
_REQUEST_TIMEOUT = 5.0
_CREATION_TIMEOUT = 30.0
_METADATA_BACKOFF = ExponentialBackoff(0.005, 0.5)


class LogRecord(NamedTuple):
    """One record of the log, as its bytes; ``timestamp_ms`` is None where it has none."""

    key: bytes | None
    value: bytes | None
    partition: int
    offset: int
    timestamp_ms: int | None = None


class KafkaBasedLog:
    """A topic that is tailed on a thread of its own, which calls ``on_records`` with each batch, in partition order.

    ``start``, ``stop``, ``flush`` block; ``send`` and ``read_to_end`` do not. Any thread may call them. An error that
    ends the log's thread (an exception of ``on_records``, a lost ACL, a corrupt record) fails all waiters, present and
    future. So does the topic's deletion: all logs that have read it fail with a TopicLostError, even if there is
    another topic of its name. A log with ``on_remade`` makes the topic again instead, compacted, and calls that on its
    thread.
    With ``isolation.level=read_committed`` in ``consumer_props`` only committed records are handed out.
    """

    def __init__(
        self,
        topic: str,
        consumer_props: Mapping[str, str],
        producer_props: Mapping[str, str] | None,
        on_records: Callable[[Sequence[LogRecord]], None],
        admin_props: Mapping[str, str],
        create: TopicSpec | None = None,
        on_remade: Callable[[], None] | None = None,
    ) -> None:
        self.topic = topic
        self._on_remade = on_remade
        self._identity = TopicIdentity(topic, time.monotonic)
        self._next_description = 0.0
        self._pending_description: Future[Any] | None = None
        self._consumer_props = _tailing(consumer_props)
        self._on_records = on_records
        self._create = create
        self._admin_props = admin_props
        self._admin: TopicAdmin | None = None
        self._sender = RecordSender(topic, producer_props) if producer_props is not None else None
        self._waiters: EndWaiters | None = None
        self._partitions: tuple[int, ...] = ()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def partitions(self) -> tuple[int, ...]:
        """The topic's partitions, as last seen."""
        return self._partitions

    @property
    def topic_id(self) -> str:
        """The id of the topic that is read; empty with brokers that know of none."""
        return self._identity.id

    def start(self, timeout: float = 120.0) -> None:
        """Create the topic if it is absent (and ``create`` given), tail it, return when it was read to its present end.

        RetriableError if that takes longer than ``timeout`` seconds: it may be called again, and starts again then.
        ConfigError if a topic that must be compacted is not, or cannot be created as specified.
        """
        begun = time.monotonic()
        self._admin = TopicAdmin(self._admin_props)
        if self._create is not None:
            self._ensure_topic(self._admin, self._create)
        self._accept_topic(self._await_topic(self._admin, time.monotonic() + timeout))
        self._waiters = EndWaiters(self.topic, self._admin, lambda: self._partitions, self._identity)
        self._consumer: Consumer = client_config.consumer(self._consumer_props)
        self._check_readable()
        self._assign(self._partitions)
        self._thread = threading.Thread(target=self._run, name=f"log-{self.topic}", daemon=True)
        self._thread.start()
        try:
            # An open transaction may be that of a task which only this start brings back: do not wait for it. Callers
            # that need its outcome call read_to_end (invariant 3).
            self._waiters.add(committed=True).result(timeout)
            took = time.monotonic() - begun
            level = logging.INFO if took >= _LONG_S else logging.DEBUG
            log.log(level, "Topic '%s' was read to its end in %.1f s", self.topic, took)
        except TimeoutError:
            reason = self.waiting_for() or "no answer from the brokers"
            self._end_thread()
            self._stopping.clear()
            message = f"Topic '{self.topic}' was not read to its end in {timeout:g} s: {reason}"
            raise RetriableKafkaError(message) from None

    def stop(self) -> None:
        """End the thread; waiters fail. Idempotent; ``on_records`` is not called after this returns."""
        self._end_thread()
        if self._sender is not None:
            self._sender.close()

    def _end_thread(self) -> None:
        self._stopping.set()
        thread = self._thread
        if thread is not None and thread.is_alive() and threading.current_thread() is not thread:
            thread.join()

    def send(self, key: bytes | None, value: bytes | None) -> Future[None]:
        """Write one record; the future ends when the brokers have it, with RetriableError if they refuse it for now."""
        if self._sender is None:
            raise KafkaClientError(f"The log of topic '{self.topic}' is read-only here")
        return self._sender.send(key, value)

    def flush(self, timeout: float) -> None:
        """Wait until everything sent so far is written. RetriableError after ``timeout`` seconds."""
        if self._sender is not None:
            self._sender.flush(timeout)

    def read_to_end(self) -> Future[None]:
        """Return a future that ends when ``on_records`` has had every record that is in the topic now (invariant 3).

        The end is the high watermark: with an open transaction in the topic a read_committed log waits until that ends.
        The future ends on one of several threads: callbacks must be short. It outlasts an outage of the brokers.
        """
        if self._waiters is None:
            raise KafkaClientError(f"The log of topic '{self.topic}' has not been started")
        return self._waiters.add()

    def read_up_to(self, ends: Mapping[int, int]) -> Future[None]:
        """Return a future that ends when ``on_records`` has had every record before ``ends``, offsets by partition.

        For the writer of the records, which knows their offsets: no request for the end offsets is needed.
        """
        if self._waiters is None:
            raise KafkaClientError(f"The log of topic '{self.topic}' has not been started")
        return self._waiters.add(ends)

    def check_topic(self) -> None:
        """Raise TopicLostError unless the topic is the one that was read. Blocks; call it before writing."""
        assert self._admin is not None
        found = self._admin.describe(self.topic)
        if self._identity.is_another(found):
            raise self._lost_error(self._identity.loss(found) or f"topic '{self.topic}' does not exist any more")

    def waiting_for(self) -> str | None:
        """Describe what the oldest ``read_to_end`` waits for; None if there is none. May send requests to brokers."""
        return self._waiters.describe() if self._waiters is not None else None

    def failure(self) -> BaseException | None:
        """Return the error that has ended the log's thread, None while it runs."""
        return self._waiters.failure if self._waiters is not None else None

    def _ensure_topic(self, admin: TopicAdmin, wanted: TopicSpec) -> None:
        created = admin.describe(self.topic) is None and admin.create_topics([wanted])
        if not created and wanted.config.get("cleanup.policy") == "compact":
            admin.verify_compacted(self.topic, wanted.name_property)

    def _accept_topic(self, found: TopicDescription) -> None:
        self._partitions = found.partitions
        self._identity.accept(found)

    def _await_topic(self, admin: TopicAdmin, deadline: float) -> TopicDescription:
        """Wait until the brokers know the topic: one that was just created takes a moment."""
        pauses = _METADATA_BACKOFF.pauses()
        while True:
            found = admin.describe(self.topic)
            if found is not None and found.partitions:
                return found
            if time.monotonic() > deadline or self._create is None:
                raise KafkaClientError(f"Topic '{self.topic}' does not exist")
            self._stopping.wait(next(pauses))

    def _check_readable(self) -> None:
        """Raise AuthorizationError if the consumer may not read the topic: it would wait for it silently."""
        try:
            error = self._consumer.list_topics(self.topic, timeout=_REQUEST_TIMEOUT).topics[self.topic].error
        except KafkaException:
            return  # the log waits for brokers that are not available
        if error is not None and error.code() in AUTHORIZATION_CODES:
            self._consumer.close()
            raise connect_error(error, f"reading topic '{self.topic}'")

    def _assign(self, partitions: Sequence[int]) -> None:
        self._consumer.incremental_assign([TopicPartition(self.topic, p, OFFSET_BEGINNING) for p in partitions])

    def _run(self) -> None:
        waiters = self._waiters
        assert waiters is not None
        failure: BaseException = KafkaClientError(f"The log of topic '{self.topic}' was stopped")
        try:
            self._tail(waiters)
        except Exception as e:
            failure = e
            log.error("The log of topic '%s' has died: %s", self.topic, e, exc_info=not isinstance(e, ConnectError))
        finally:
            waiters.fail_all(failure)
            self._consumer.close()

    def _tail(self, waiters: EndWaiters) -> None:
        last_message = time.monotonic()
        self._next_description = last_message + _DESCRIBE_INTERVAL
        while not self._stopping.is_set():
            quiet = time.monotonic() - last_message > _QUIET_AFTER
            first = self._consumer.poll(waiters.poll_timeout(_QUIET_WAIT if quiet else _IDLE_WAIT))
            if first is not None:
                last_message = time.monotonic()
            self._read_available(first, waiters)
            if first is not None or waiters.waiting():
                waiters.advance(self._positions())
            self._watch_topic(waiters)

    def _read_available(self, first: Message | None, waiters: EndWaiters) -> None:
        """Hand out all records that are there. Transaction markers behind them advance the position, so drain it."""
        while first is not None:
            messages = [first, *self._consumer.consume(_BATCH, 0)]
            ends: dict[int, int] = {}
            records = [record for message in messages if (record := self._record(message, ends)) is not None]
            if records:
                self._on_records(records)
            # Not before: other threads end the futures of what is noted as read (invariant 3).
            for partition, offset in ends.items():
                waiters.reached(partition, offset)
            if self._stopping.is_set():
                return
            first = self._consumer.poll(0)

    def _record(self, message: Message, ends: dict[int, int]) -> LogRecord | None:
        """Return the message's record; None if it has none. A partition's end that was reached is put into ``ends``."""
        error = message.error()
        partition, offset = message.partition(), message.offset()
        if error is None:
            assert partition is not None and offset is not None
            return LogRecord(message.key(), message.value(), partition, offset, _timestamp_ms(message))
        if error.code() == KafkaError._PARTITION_EOF:
            assert partition is not None and offset is not None
            ends[partition] = offset
        elif error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            # The client looks for a coordinator, though it joins no group and commits nothing: reading the topic needs
            # no right to a group (KIP-618).
            log.debug("Reading topic '%s' continues without a group: %s", self.topic, error.str())
        elif error.fatal() or error.code() in AUTHORIZATION_CODES:
            raise connect_error(error, f"reading topic '{self.topic}'")
        elif error.code() in UNREADABLE_CODES:
            where = f"topic '{self.topic}' partition {partition}, offset {offset}"
            raise KafkaClientError(f"Records cannot be read, and must not be left out: {where}: {error.str()}")
        else:
            log.warning("Reading topic '%s' continues after an error: %s", self.topic, error.str())
        return None

    def _positions(self) -> dict[int, int]:
        """Return the offset after the last record handed out or marker skipped, for partitions that were read."""
        wanted = [TopicPartition(self.topic, partition) for partition in self._partitions]
        return {tp.partition: tp.offset for tp in self._consumer.position(wanted) if tp.offset >= 0}

    def _watch_topic(self, waiters: EndWaiters) -> None:
        """Describe the topic every few seconds, without waiting: records are read until the answer is there."""
        assert self._admin is not None
        if self._pending_description is None:
            if self._identity.take_doubt() or time.monotonic() >= self._next_description:
                self._next_description = time.monotonic() + _DESCRIBE_INTERVAL
                with suppress(RetriableError):
                    self._pending_description = self._admin.ask_to_describe(self.topic, _REQUEST_TIMEOUT)
        elif self._pending_description.done():
            asked, self._pending_description = self._pending_description, None
            try:
                found = self._admin.description(self.topic, asked)
            except RetriableError:
                return
            self._on_description(found, waiters)

    def _on_description(self, found: TopicDescription | None, waiters: EndWaiters) -> None:
        loss = self._identity.loss(found)
        if loss is not None:
            self._recreate_topic(loss, waiters)
        elif found is not None:
            added = tuple(partition for partition in found.partitions if partition not in self._partitions)
            if added:
                self._assign(added)
                self._partitions = tuple(sorted((*self._partitions, *added)))

    def _recreate_topic(self, loss: str, waiters: EndWaiters) -> None:
        """Create the topic again, if ``on_remade`` is given: topics that brokers auto-create are not compacted."""
        admin, wanted = self._admin, self._create
        if self._on_remade is None or admin is None or wanted is None:
            raise self._lost_error(loss)
        log.error("%s. It is made again, compacted, and filled with what is known here", _sentence(loss))
        try:
            self._create_again(admin, wanted)
        except RetriableError as e:  # the next description finds the same
            log.warning("Topic '%s' is not made again yet: %s", self.topic, e)
            return
        self._consumer.close()
        self._consumer = client_config.consumer(self._consumer_props)
        self._assign(self._partitions)
        waiters.start_again()
        self._on_remade()

    def _create_again(self, admin: TopicAdmin, wanted: TopicSpec) -> None:
        try:
            self._ensure_topic(admin, wanted)
        except ConfigError:
            admin.make_compacted(self.topic)
        self._accept_topic(self._await_topic(admin, time.monotonic() + _CREATION_TIMEOUT))

    def _lost_error(self, loss: str) -> TopicLostError:
        named_by = f" ({self._create.name_property})" if self._create is not None else ""
        advice = f". {self._create.loss}" if self._create is not None and self._create.loss else ""
        return TopicLostError(f"{_sentence(loss)}{named_by}{advice}")


def _timestamp_ms(message: Message) -> int | None:
    kind, milliseconds = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE else milliseconds


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tailing(props: Mapping[str, str]) -> dict[str, str]:
    """Return a consumer's properties to read from the start, without a group or delay.

    Partition ends are reported: if compaction has removed the last records, only they show that the end is reached.
    """
    fixed: dict[str, Any] = {
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "fetch.min.bytes": "1",
        "enable.partition.eof": "true",
    }
    return {**props, **fixed}
