# SPDX-License-Identifier: Apache-2.0
"""Records that a sink task itself cannot handle (KIP-610). Java: ``WorkerErrantRecordReporter``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final

from headrace.api.errors import ConnectError
from headrace.api.record import SinkRecord
from headrace.api.sink import ErrantRecordReporter
from headrace.kafka.data.record_sender import RecordSender
from headrace.task.errors.dead_letters import DeadLetter
from headrace.task.errors.processing_context import ConsumedRecord, Operation
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, ToleranceExceededError

_MOST_UNDER_WAY: Final = 1000


class WorkerErrantRecordReporter(ErrantRecordReporter):
    """``original`` gives a record as it was consumed. Task's thread only."""

    def __init__(
        self,
        operation: Operation,
        errors: RetryWithTolerance[ConsumedRecord],
        original: Callable[[SinkRecord], ConsumedRecord],
        dead_letters: SinkDeadLetters | None,
    ) -> None:
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
            self._errors.reported(self._operation, self._original(record), cause)
        except ToleranceExceededError as intolerable:
            self._intolerable = self._intolerable or intolerable
            raise
        return letters.latest if letters is not None and letters.latest is not None else _done()

    def raise_intolerable(self) -> None:
        """After ``put``: a task may not swallow the error that ``report`` has raised."""
        if self._intolerable is not None:
            raise self._intolerable


def _done() -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future


class SinkDeadLetters:
    """Task's thread only. Offsets are committed after ``await_all`` alone, so nothing is skipped that is not here."""

    def __init__(self, topic: str, producer: Mapping[str, str]) -> None:
        self._sender = RecordSender(topic, producer)
        self._under_way: list[Future[None]] = []
        self.latest: Future[None] | None = None

    def send(self, letter: DeadLetter) -> None:
        """Put it on its way; blocks while many are."""
        if len(self._under_way) >= _MOST_UNDER_WAY:
            self.await_all()
        self.latest = self._sender.send(letter.key, letter.value, letter.headers, letter.timestamp)
        self._under_way.append(self.latest)

    def await_all(self) -> None:
        """Wait until all have arrived. The error of one that did not: RetriableError, or what will fail again."""
        under_way, self._under_way = self._under_way, []
        for future in under_way:
            future.result()

    def close(self) -> None:
        self._sender.close()
