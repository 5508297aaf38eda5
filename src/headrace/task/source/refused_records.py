# SPDX-License-Identifier: Apache-2.0
"""Records of an at-least-once task that brokers refuse: skipped or set aside as ``errors.*`` say.

A broker refuses a whole batch for one record of it, so each is tried once more, alone. Java:
``WorkerSourceTask.producerSendFailed``, whose producer splits a batch that is too large.
"""

from __future__ import annotations

from collections import deque

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.kafka.data.record_producer import RecordProducer, Refused
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.errors.processing_context import Operation
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.record_converter import TopicBatch
from headrace.task.source.batch_sender import RecordDelivered, send
from headrace.task.source.source_dead_letters import SourceDeadLetters
from headrace.task.source.submitted_records import SubmittedBatch

Content = tuple[bytes | None, bytes | None]


class RefusedRecords:
    """For tasks that tolerate errors. Task's thread only. ``timeout`` (seconds) bounds each wait for the brokers."""

    def __init__(
        self,
        producer: RecordProducer,
        errors: RetryWithTolerance[SourceRecord],
        dead_letters: SourceDeadLetters | None,
        operation: Operation,
        timeout: float,
    ) -> None:
        self._operation = operation
        self._producer = producer
        self._errors = errors
        self._dead_letters = dead_letters
        self._timeout = timeout
        self._waiting: deque[tuple[SubmittedBatch, TopicBatch, int]] = deque()

    def of(self, submitted: SubmittedBatch, batch: TopicBatch) -> Refused:
        """To be told of each refused record of ``batch``, which is part of ``submitted``."""
        rows: dict[Content, deque[int]] = {}

        def note(error: ConnectError, key: bytes | None, value: bytes | None) -> None:
            if not rows:
                for row, each in enumerate(batch.values):
                    rows.setdefault((batch.keys[row] if batch.keys else None, each), deque()).append(row)
            # Which of several equal ones it was does not matter: they are refused alike.
            self._waiting.append((submitted, batch, rows[key, value].popleft()))

        return note

    def settle(self, delivered: RecordDelivered | None) -> list[SourceRecord]:
        """Try each again and set aside what is refused again; those records, where the task wants to be told.

        RetriableKafkaError if the brokers take longer than the timeout.
        """
        skipped: list[SourceRecord] = []
        while self._waiting:
            submitted, batch, row = self._waiting.popleft()
            error = self._refusal(submitted, batch.only(row), delivered)
            if error is not None:
                self._set_aside(submitted, batch, row, error)
                if batch.sources is not None:
                    skipped.append(batch.sources[row])
        return skipped

    def _refusal(
        self, submitted: SubmittedBatch, record: TopicBatch, delivered: RecordDelivered | None
    ) -> ConnectError | None:
        refused: list[ConnectError] = []
        send(self._producer, record, submitted.ack, delivered, lambda error, key, value: refused.append(error))
        self._flush()
        return refused[0] if refused else None

    def _set_aside(self, submitted: SubmittedBatch, batch: TopicBatch, row: int, error: ConnectError) -> None:
        self._errors.reported(self._operation, batch.origin(row), error)
        letter = self._dead_letters.take() if self._dead_letters is not None else None
        if letter is None:
            submitted.unacked -= 1
        else:
            # In place of the record: its offset waits for it.
            send(self._producer, letter, submitted.ack)
            self._flush()

    def _flush(self) -> None:
        if not self._producer.flush(self._timeout):
            raise RetriableKafkaError(f"a record that was refused was not settled within {self._timeout:g} s")
