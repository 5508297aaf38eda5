# SPDX-License-Identifier: Apache-2.0
"""Reports records that a sink task itself cannot handle (KIP-610), and sends dead letters.

Java: ``WorkerErrantRecordReporter``, ``DeadLetterQueueReporter`` with its producer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final

from headrace.api.errors import ConnectError
from headrace.api.record import SinkRecord
from headrace.api.sink import ErrantRecordReporter
from headrace.kafka.data.record_sender import RecordSender
from headrace.task.errors.processing_context import ConsumedRecord, Operation
from headrace.task.errors.reporters import DeadLetter
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, ToleranceExceededError
from headrace.task.task_metrics import TaskMetrics

_MAX_IN_FLIGHT: Final = 1000


class WorkerErrantRecordReporter(ErrantRecordReporter):
    """The reporter of one task. Task's thread only."""

    def __init__(
        self,
        operation: Operation,
        errors: RetryWithTolerance[ConsumedRecord],
        original: Callable[[SinkRecord], ConsumedRecord],
        dead_letters: SinkDeadLetters | None,
    ) -> None:
        """``original`` returns a record as it was consumed."""
        self._operation = operation
        self._errors = errors
        self._original = original
        self._dead_letters = dead_letters
        self._intolerable: ToleranceExceededError | None = None

    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        letters = self._dead_letters
        if letters is not None:
            letters.latest = None
        cause = error if isinstance(error, Exception) else ConnectError(repr(error))
        try:
            self._errors.report(self._operation, self._original(record), cause)
        except ToleranceExceededError as intolerable:
            self._intolerable = self._intolerable or intolerable
            raise
        return letters.latest if letters is not None and letters.latest is not None else _completed_future()

    def raise_intolerable(self) -> None:
        """Raise again what ``report`` raised, after ``put``: a task may not swallow it."""
        if self._intolerable is not None:
            raise self._intolerable


def _completed_future() -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future


class SinkDeadLetters:
    """Sends dead letters. Task's thread only.

    Offsets are committed only after ``await_all``, so no record is skipped whose dead letter has not arrived.
    """

    def __init__(self, topic: str, producer: Mapping[str, str], metrics: TaskMetrics) -> None:
        self._sender = RecordSender(topic, producer)
        self._metrics = metrics
        self._in_flight: list[Future[None]] = []
        self.latest: Future[None] | None = None

    def send(self, letter: DeadLetter) -> None:
        """Begin to send a letter; blocks while many are in flight."""
        if len(self._in_flight) >= _MAX_IN_FLIGHT:
            self.await_all()
        self.latest = self._sender.send(letter.key, letter.value, letter.headers, letter.timestamp)
        self._in_flight.append(self.latest)

    def await_all(self) -> None:
        """Wait until all have arrived. Raises the error of one that did not: RetriableError, or one that lasts."""
        in_flight, self._in_flight = self._in_flight, []
        failed = sum(future.exception() is not None for future in in_flight)
        if failed:
            self._metrics.add("deadletterqueue-produce-failures", failed)
        for future in in_flight:
            future.result()

    def close(self) -> None:
        self._sender.close()
