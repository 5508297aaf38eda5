# SPDX-License-Identifier: Apache-2.0
"""At-least-once records that are sent and not yet delivered: acknowledged in order, or refused by the brokers.

Java: ``SubmittedRecords`` (KAFKA-12226). Here the unit is a polled batch, so that nothing is kept per record.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.kafka.data.record_producer import RecordProducer, RefusalCallback
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.errors.processing_context import Operation
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.source.source_batch import OffsetsByKey, SourceDeadLetters
from headrace.task.topic_batch import DeliveredRecords, TopicBatch, send_batch

KeyAndValue = tuple[bytes | None, bytes | None]


@dataclass(slots=True)
class SubmittedBatch:
    """A batch that is sent: delivered when ``unacked`` is 0."""

    unacked: int
    offsets: OffsetsByKey = field(default_factory=dict)

    def ack(self, topic: str, partition: int, offset: int, timestamp: int | None) -> None:
        """Count one of its records as delivered; a delivery callback."""
        self.unacked -= 1


class SubmittedRecords:
    """Tracks which offsets may be committed. The task's thread only, which also runs the delivery callbacks."""

    def __init__(self) -> None:
        self._batches: deque[SubmittedBatch] = deque()

    def submit(self, size: int, offsets: OffsetsByKey) -> SubmittedBatch:
        """Add a batch that is about to be sent; one of size 0 (all dropped) counts as delivered in its turn."""
        batch = SubmittedBatch(size, offsets)
        self._batches.append(batch)
        return batch

    def take_committable(self) -> OffsetsByKey:
        """Return the offsets of the longest run of delivered batches, and forget those batches.

        An offset waits for all earlier batches, whatever its partition: a record is never skipped.
        """
        offsets: OffsetsByKey = {}
        while self._batches and self._batches[0].unacked == 0:
            for key, offset in self._batches.popleft().offsets.items():
                offsets.pop(key, None)
                offsets[key] = offset
        return offsets

    @property
    def in_flight(self) -> int:
        """Number of records not yet delivered."""
        return sum(batch.unacked for batch in self._batches)


class RefusedRecords:
    """Skips or sets aside the records that brokers refuse. For tasks that tolerate errors; the task's thread only.

    A broker refuses a whole batch for one record of it, so each is sent once more, alone. Java:
    ``WorkerSourceTask.producerSendFailed``, whose producer splits a batch that is too large.
    """

    def __init__(
        self,
        producer: RecordProducer,
        errors: RetryWithTolerance[SourceRecord],
        dead_letters: SourceDeadLetters | None,
        operation: Operation,
        timeout: float,
    ) -> None:
        """``timeout`` (seconds) bounds each wait for the brokers."""
        self._operation = operation
        self._producer = producer
        self._errors = errors
        self._dead_letters = dead_letters
        self._timeout = timeout
        self._waiting: deque[tuple[SubmittedBatch, TopicBatch, int]] = deque()

    def callback(self, submitted: SubmittedBatch, batch: TopicBatch) -> RefusalCallback:
        """Return the producer's callback for refused records of ``batch``, which is part of ``submitted``."""
        rows: dict[KeyAndValue, deque[int]] = {}

        def on_refused(error: ConnectError, key: bytes | None, value: bytes | None) -> None:
            if not rows:
                for row, each in enumerate(batch.values):
                    rows.setdefault((batch.keys[row] if batch.keys else None, each), deque()).append(row)
            # Which of several equal records it was does not matter: they are refused alike.
            self._waiting.append((submitted, batch, rows[key, value].popleft()))

        return on_refused

    def resend(self, delivered: DeliveredRecords | None) -> list[SourceRecord]:
        """Send each refused record again, those refused again to the dead letter topic; return them if remembered.

        RetriableKafkaError if the brokers take longer than the timeout.
        """
        skipped: list[SourceRecord] = []
        while self._waiting:
            submitted, batch, row = self._waiting.popleft()
            error = self._resend_one(submitted, batch.only(row), delivered)
            if error is not None:
                self._set_aside(submitted, batch, row, error)
                if batch.sources is not None:
                    skipped.append(batch.sources[row])
        return skipped

    def _resend_one(
        self, submitted: SubmittedBatch, record: TopicBatch, delivered: DeliveredRecords | None
    ) -> ConnectError | None:
        """Return the error if the record is refused again."""
        refused: list[ConnectError] = []
        send_batch(self._producer, record, submitted.ack, delivered, lambda error, key, value: refused.append(error))
        self._flush()
        return refused[0] if refused else None

    def _set_aside(self, submitted: SubmittedBatch, batch: TopicBatch, row: int, error: ConnectError) -> None:
        self._errors.report(self._operation, batch.origin(row), error)
        letter = self._dead_letters.take() if self._dead_letters is not None else None
        if letter is None:
            submitted.unacked -= 1
        else:
            # It counts in place of the record, whose offset waits for it.
            send_batch(self._producer, letter, submitted.ack)
            self._flush()

    def _flush(self) -> None:
        if not self._producer.flush(self._timeout):
            raise RetriableKafkaError(f"a record that was refused was not settled within {self._timeout:g} s")
