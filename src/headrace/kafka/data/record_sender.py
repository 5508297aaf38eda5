# SPDX-License-Identifier: Apache-2.0
"""A writer of single records to one topic, with a future for each."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException, Message

from headrace.kafka.clients import client_config
from headrace.kafka.errors import KafkaClientError, RetriableKafkaError, clock_skew_error, connect_error
from headrace.model.service_threads import ServiceThread

_POLL = 0.1


class RecordSender:
    """A producer and the thread that polls for its delivery reports; the thread sleeps while nothing is in flight.

    Thread-safe; ``send`` never blocks. Records of one key keep their order. Futures end on the sender's thread.
    """

    def __init__(self, topic: str, props: Mapping[str, str]) -> None:
        self._topic = topic
        # A caller waits for each of these records, so none lingers.
        self._producer = client_config.producer({"linger.ms": "0", **props})
        self._changed = threading.Condition()
        self._in_flight = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def send(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
    ) -> Future[None]:
        """Write one record; a None value is a tombstone. RetriableError if the brokers refuse it for now."""
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()

        def delivered(error: KafkaError | None, _: Message) -> None:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify_all()
            if error is None:
                future.set_result(None)
            elif timestamp is None and error.code() == KafkaError.INVALID_TIMESTAMP:
                future.set_exception(clock_skew_error(f"writing to topic '{self._topic}'"))
            else:
                future.set_exception(connect_error(error, f"writing to topic '{self._topic}'"))

        with self._changed:
            if self._closed:
                future.set_exception(KafkaClientError(f"The log of topic '{self._topic}' was stopped"))
                return future
            try:
                self._producer.produce(
                    self._topic, value, key, on_delivery=delivered, headers=list(headers), timestamp=timestamp or 0
                )
            except BufferError:
                future.set_exception(RetriableKafkaError(f"Too many records for topic '{self._topic}' are under way"))
            except KafkaException as e:
                future.set_exception(connect_error(e, f"writing to topic '{self._topic}'"))
            else:
                self._in_flight += 1
                self._start_thread()
                self._changed.notify_all()
        return future

    def flush(self, timeout: float) -> None:
        """Wait until nothing is in flight. RetriableError after ``timeout`` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._in_flight == 0, timeout):
                raise RetriableKafkaError(
                    f"{self._in_flight} records for topic '{self._topic}' were not written within {timeout:g} s"
                )

    def close(self, timeout: float = 5.0) -> None:
        """Wait up to ``timeout`` seconds for the records in flight; the rest fails."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.wait_for(lambda: self._in_flight == 0, timeout)
            self._changed.notify_all()
        self._producer.purge()
        if self._thread is not None:
            self._thread.join()

    def _start_thread(self) -> None:
        if self._thread is None:
            loss = f"results of records are not reported for topic '{self._topic}'"
            self._thread = ServiceThread(f"log-{self._topic}-sender", self._run, loss)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._in_flight > 0 or self._closed)
                if self._in_flight == 0:
                    return
            self._producer.poll(_POLL)
