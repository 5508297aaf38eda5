# SPDX-License-Identifier: Apache-2.0
"""Records that a sink task itself cannot handle (KIP-610). Java: ``WorkerErrantRecordReporter``."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from headrace.api.errors import ConnectError
from headrace.api.record import SinkRecord
from headrace.api.sink import ErrantRecordReporter
from headrace.task.errors.processing_context import ConsumedRecord, Operation
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, ToleranceExceededError
from headrace.task.sink.sink_dead_letters import SinkDeadLetters


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
