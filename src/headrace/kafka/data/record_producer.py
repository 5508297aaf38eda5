# SPDX-License-Identifier: Apache-2.0
"""A producer of whole batches for a task, with back-pressure by bytes, that accounts for each delivery."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final, Protocol, TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headrace.api.errors import ConnectError
from headrace.kafka.clients.client_config import producer_config, unusable_properties_error
from headrace.kafka.data.client_statistics import ClientStatistics
from headrace.kafka.data.delivery_failures import DeliveryFailures, ProducerLog
from headrace.kafka.errors import (
    AuthorizationError,
    ProducerFencedError,
    RetriableKafkaError,
    UncertainCommitError,
    call_outside_handler,
    clear_tracebacks,
    connect_error,
    fatal_error,
    is_refused,
    kafka_error,
)
from headrace.model.deadline import Deadline

T = TypeVar("T")

UNKNOWN_OFFSET: Final = -1
"""As Java's ``RecordMetadata``: a broker may confirm a repeated request without the offsets of its records."""
DeliveryCallback = Callable[[str, int, int, int | None], None]
"""Called for a delivered record with topic, partition, offset or UNKNOWN_OFFSET, and timestamp (epoch ms)."""
RefusalCallback = Callable[[ConnectError, bytes | None, bytes | None], None]
"""Called for a record that the brokers refuse for good, with the reason, its key and its value."""
RowCallback = Callable[[int, int, int, int | None], None]
"""Called for a delivered record with its row among those that were sent together, partition, offset and timestamp."""
RawHeaders = Sequence[tuple[str, bytes | None]]

_ANY = -1
"""The partition that leaves the choice to the partitioner."""
_CHUNK = 10_000
_FULL_WAIT = 1.0
_FIRST_FLUSH: Final = 0.05
"""Seconds for which the client flushes at first: a broker that is well has answered by then."""
_NEXT_FLUSH: Final = 0.002
_FLUSH_PAUSES: Final = (0.01, 0.1)
"""The first and the longest pause between flushes, in seconds."""
_REPORTS_WAIT = 5.0
_TRANSPORT_CODES = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT})


class RecordColumns(Protocol):
    """Records of one topic, in order, as columns. An absent column (None) holds nothing for any record."""

    @property
    def topic(self) -> str: ...

    @property
    def values(self) -> Sequence[bytes | None]: ...

    @property
    def keys(self) -> Sequence[bytes | None] | None: ...

    @property
    def partitions(self) -> Sequence[int | None] | None: ...

    @property
    def timestamps(self) -> Sequence[int | None] | None: ...

    @property
    def headers(self) -> Sequence[RawHeaders | None] | None: ...


class RecordProducer:
    """A producer of one task's records. Used by one thread at a time; made in the task's process (after its fork).

    With ``every_delivery`` False no callback runs for a successful delivery, and only failures are noted. Sending
    blocks while ``buffer.memory`` bytes wait for the broker.
    """

    def __init__(
        self, props: Mapping[str, str], *, every_delivery: bool = False, statistics: ClientStatistics | None = None
    ) -> None:
        self._failures = DeliveryFailures()
        config = {
            **producer_config(props),
            # Bytes are bounded here, so that a batch is never taken in part: the order would be lost.
            "queue.buffering.max.messages": 0,
            "queue.buffering.max.kbytes": 2_097_151,
            "delivery.report.only.error": not every_delivery,
            "error_cb": self._on_error,
            **(statistics.of_producer() if statistics is not None else {}),
            "logger": ProducerLog(self._on_lost_coordinator, self._failures.note_unauthorized),
        }
        self._limit = int(props.get("buffer.memory", 32 * 1024 * 1024))
        self._bytes = 0
        self.on_transport_error: Callable[[RetriableKafkaError], None] = lambda error: None
        """Called with each transport error while records are on their way, within a call of this producer."""
        self._transport_error: str | None = None
        self._every_delivery = every_delivery
        self._taken = self._delivered = self._lost = 0
        try:
            self.client = Producer(config)
        except KafkaException as error:
            raise unusable_properties_error(error, props, "producer") from error

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: RawHeaders | None = None,
        on_delivered: DeliveryCallback | None = None,
        on_refused: RefusalCallback | None = None,
    ) -> None:
        """Send one record. KafkaClientError if it can never be sent (too large).

        A record that brokers refuse is reported to ``on_refused``; without that it is a failed delivery.
        """
        self._make_room((len(value) if value else 0) + (len(key) if key else 0))
        on_delivery = self._on_delivery_of_now if timestamp is None else self._on_delivery
        where = _ANY if partition is None else partition
        callback = partial(on_delivery, on_delivered, on_refused)
        self._produce(topic, [value], [key], [where], [callback], [None], [timestamp or 0], [headers])

    def send_all(
        self,
        records: RecordColumns,
        on_delivered: DeliveryCallback | None = None,
        on_refused: RefusalCallback | None = None,
        on_row_delivered: RowCallback | None = None,
    ) -> None:
        """Send records as ``send``, in order and a chunk at a time; ``on_row_delivered`` also gets their rows.

        One ``produce`` for each takes less time than the client's ``produce_batch``, which wants a dictionary for each.
        """
        size = len(records.values)
        for start in range(0, size, _CHUNK):
            rows = slice(start, min(start + _CHUNK, size))
            values, keys = records.values[rows], _chunk(records.keys, rows)
            partitions, timestamps = _chunk(records.partitions, rows), _chunk(records.timestamps, rows)
            self._make_room(sum(map(len, filter(None, values))) + sum(map(len, filter(None, keys or ()))))
            columns: list[Iterable[Any]] = [
                values,
                keys or repeat(None),
                repeat(_ANY) if partitions is None else _without_nones(partitions, _ANY),
                self._callbacks(rows, timestamps, on_delivered, on_refused, on_row_delivered),
            ]
            if timestamps is not None or records.headers is not None:
                times = repeat(0) if timestamps is None else _without_nones(timestamps, 0)
                columns += [repeat(None), times, _chunk(records.headers, rows) or repeat(None)]
            self._produce(records.topic, *columns)

    def _callbacks(
        self,
        rows: slice,
        timestamps: Sequence[int | None] | None,
        delivered: DeliveryCallback | None,
        refused: RefusalCallback | None,
        row_delivered: RowCallback | None,
    ) -> Iterable[Callable[..., None]]:
        """Return the client's callback for each record of some rows."""
        of_now, of_given = (
            self._callback(handler, delivered, refused, row_delivered)
            for handler in (self._on_delivery_of_now, self._on_delivery)
        )
        callbacks: Iterable[Callable[..., None]] = repeat(of_now if timestamps is None else of_given)
        if timestamps is not None and None in timestamps:
            callbacks = [of_now if timestamp is None else of_given for timestamp in timestamps]
        return callbacks if row_delivered is None else map(partial, callbacks, range(rows.start, rows.stop))

    def _callback(
        self,
        handler: Callable[..., None],
        delivered: DeliveryCallback | None,
        refused: RefusalCallback | None,
        row_delivered: RowCallback | None,
    ) -> Callable[..., None]:
        """Return the client's callback; with ``row_delivered`` its first argument is the record's row."""
        if row_delivered is None:
            return partial(handler, delivered, refused)

        def callback(row: int, error: KafkaError | None, message: Message) -> None:
            if error is not None:
                handler(delivered, refused, error, message)
                return
            self._delivered += 1
            kind, timestamp = message.timestamp()
            partition, offset = message.partition() or 0, message.offset()
            place = UNKNOWN_OFFSET if offset is None else offset
            row_delivered(row, partition, place, timestamp if kind else None)
            if delivered is not None:
                delivered(message.topic() or "", partition, place, timestamp if kind else None)

        return callback

    def _produce(self, topic: str, *arguments: Iterable[Any]) -> None:
        """Call the client's ``produce`` for each record; ``arguments`` are those behind the topic, as columns."""
        taken = 0
        try:
            for _ in map(self.client.produce, repeat(topic), *arguments):
                taken += 1
        except (KafkaException, BufferError) as error:
            self._await_reports(error)
            raise self.failure(error, f"writing to topic {topic}") from error
        finally:
            self._taken += taken

    def _await_reports(self, error: BaseException) -> None:
        """Wait for the reports of a transaction that has failed, one of which has the reason.

        The client refuses further records as soon as it knows, before it reports the delivery that failed, and gives up
        what it has not sent yet.
        """
        cause = kafka_error(error)
        if cause is not None and cause.code() == KafkaError._STATE and not self._failures:
            try:
                call_outside_handler(lambda: self.client.flush(_REPORTS_WAIT))
            except (KafkaException, SystemError) as unwanted:
                clear_tracebacks(unwanted)

    @property
    def acknowledged(self) -> int:
        """Records that the brokers have acknowledged so far. Exact while nothing is under way.

        Without ``every_delivery`` successes are not reported one by one: the client ends each record that it took with
        an acknowledgement or a failure, and reports the failures.
        """
        return self._delivered if self._every_delivery else self._taken - self._lost

    @property
    def in_flight(self) -> int:
        """Records that were sent and whose delivery is not reported yet; 0 without ``every_delivery``."""
        return self._taken - self._lost - self.acknowledged

    def connect(self, topic: str, timeout: float) -> None:
        """Wait for a broker: without one, librdkafka looks for a transaction coordinator only every half second.

        ``topic`` is one that is there: the client asks for its metadata now and then as long as it lives, and for that
        of a topic that is not there every second.
        """
        deadline = Deadline.after(timeout)
        # The first answer may come from a bootstrap server, whose connection ends as soon as the brokers are known.
        # The second one comes from a broker.
        for _ in range(2):
            self.client.list_topics(topic, deadline.remaining())

    def flush(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds until all that was sent is delivered or failed; return True if it is.

        While librdkafka flushes, its thread for a broker does not pause if records wait behind others that are under
        way. So it flushes for a moment only, again and again, lest brokers that do not answer cost a core.
        """
        deadline = Deadline.after(timeout)
        seconds, pause = _FIRST_FLUSH, _FLUSH_PAUSES[0]
        while self._served(partial(self.client.flush, min(seconds, deadline.remaining()))) > 0:
            if deadline.expired:
                return False
            self.serve(min(pause, deadline.remaining()))
            seconds, pause = _NEXT_FLUSH, min(2 * pause, _FLUSH_PAUSES[1])
        self._bytes = 0
        return True

    def serve(self, timeout: float = 0) -> None:
        """Run the delivery and error callbacks that are due."""
        self._served(lambda: self.client.poll(timeout))

    def failure(self, error: BaseException, doing: str) -> ConnectError:
        """Return the root cause of an ``error`` of the client's; the producer must not be used any more.

        Once a delivery has failed or the producer is fenced, every later call only says that the state is wrong. So a
        fatal error comes first, then the failure of a delivery, then the error itself.
        """
        fatal = fatal_error(self.client) or _fatal(error)
        if fatal is None:
            return self.delivery_failure() or connect_error(error, doing)
        cause = connect_error(fatal, doing)
        if isinstance(cause, (ProducerFencedError, AuthorizationError)):
            return cause
        # The producer is lost, but neither the records nor the principal are to blame: another one may continue.
        return UncertainCommitError(str(cause))

    def delivery_failure(self) -> ConnectError | None:
        """Return the first failed delivery since the last call; a lasting failure is preferred."""
        return self._failures.take(self.client)

    def forget_failures(self) -> None:
        """Discard the noted failures, those of records that are not needed any more."""
        self._failures.forget()

    def take_transport_error(self) -> str | None:
        """Return the last transport error of the client since the last call, None if there was none."""
        self.serve()
        error, self._transport_error = self._transport_error, None
        return error

    def close(self) -> None:
        """Drop the queued records; those in flight may or may not arrive."""
        try:
            call_outside_handler(lambda: self.client.purge(in_flight=True))
            call_outside_handler(lambda: self.client.poll(0))
        except (KafkaException, SystemError) as error:
            clear_tracebacks(error)

    def _make_room(self, size: int) -> None:
        if self._bytes + size > self._limit:
            while not self.flush(_FULL_WAIT):
                pass
        self._bytes += size

    def _served(self, call: Callable[[], int]) -> int:
        """Make a call that runs callbacks: a fatal error comes out of them, as a SystemError at times."""
        try:
            return call()
        except (KafkaException, SystemError) as error:
            clear_tracebacks(error)
            raise self.failure(error, "writing") from error

    def _on_delivery(
        self,
        delivered: DeliveryCallback | None,
        refused: RefusalCallback | None,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        if error is not None:
            self._lost += 1
            if refused is not None and is_refused(error):
                refused(connect_error(error, f"writing to topic {message.topic()}"), message.key(), message.value())
                return
            self._failures.note(error, message.topic() or "")
            return
        self._delivered += 1
        if delivered is not None:
            kind, timestamp = message.timestamp()
            offset = message.offset()
            place = UNKNOWN_OFFSET if offset is None else offset
            delivered(message.topic() or "", message.partition() or 0, place, timestamp if kind else None)

    def _on_delivery_of_now(
        self,
        delivered: DeliveryCallback | None,
        refused: RefusalCallback | None,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        """Handle a delivery as ``_on_delivery``, for a record with the client's time: a wrong time is not its fault."""
        if error is not None and error.code() == KafkaError.INVALID_TIMESTAMP:
            self._lost += 1
            self._failures.note_clock_skew(message.topic() or "")
            return
        self._on_delivery(delivered, refused, error, message)

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in _TRANSPORT_CODES:
            self._transport_error = error.str()
            # Brokers close idle connections too.
            if self.in_flight if self._every_delivery else self._bytes:
                self.on_transport_error(RetriableKafkaError(f"writing: {error.str()} ({error.name()})"))

    def _on_lost_coordinator(self, line: str) -> None:
        self._transport_error = line


def _chunk(column: Sequence[T] | None, rows: slice) -> Sequence[T] | None:
    return None if column is None else column[rows]


def _without_nones(column: Sequence[int | None], default: int) -> Sequence[int | None]:
    return [default if each is None else each for each in column] if None in column else column


def _fatal(error: BaseException) -> KafkaError | None:
    cause = kafka_error(error)
    return cause if cause is not None and cause.fatal() else None
