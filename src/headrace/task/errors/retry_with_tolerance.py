# SPDX-License-Identifier: Apache-2.0
"""Retries an operation that failed, then skips its record or fails the task. Java: ``RetryWithToleranceOperator``.

Called only once something has failed: records that succeed never come here.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, Generic, Protocol, TypeVar

from headrace.api.errors import ConnectError, RetriableError
from headrace.config.connector_config import DLQ_TOPIC, ERRORS_TOLERANCE, ErrorHandling
from headrace.model.backoff import ExponentialBackoff
from headrace.model.step_counts import StepKind
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.errors.processing_context import O, Operation, ProcessingContext, Stage, reason, where
from headrace.task.errors.task_errors import with_context
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_steps import Step, TaskSteps

T = TypeVar("T")
_FIRST_DELAY: Final = 0.3
_LEAST_DELAY: Final = 0.01
_CONCERNS_ONE_RECORD: Final = frozenset(
    {Stage.TRANSFORMATION, Stage.KEY_CONVERTER, Stage.VALUE_CONVERTER, Stage.HEADER_CONVERTER}
)
_STEPS: Final = {
    Stage.TASK_POLL: StepKind.SOURCE,
    Stage.TASK_PUT: StepKind.SINK,
    Stage.TRANSFORMATION: StepKind.TRANSFORMATION,
    Stage.KEY_CONVERTER: StepKind.CONVERTER,
    Stage.VALUE_CONVERTER: StepKind.CONVERTER,
    Stage.HEADER_CONVERTER: StepKind.CONVERTER,
    Stage.KAFKA_PRODUCE: StepKind.TOPIC,
    Stage.KAFKA_CONSUME: StepKind.TOPIC,
}
_HINT: Final = f"To set such records aside, set {ERRORS_TOLERANCE}=all and {DLQ_TOPIC}"


class Skipped(Enum):
    """The result for a record that is skipped."""

    SKIPPED = "skipped"


SKIPPED: Final = Skipped.SKIPPED


class ToleranceExceededError(ConnectError):
    """A record failed for good and ``errors.tolerance`` does not let it be skipped."""


class StoppedWhileRetryingError(ConnectError):
    """The task is to stop while an operation is retried. Nothing of its batch was written: it is read again."""


class ErrorReporter(Protocol[O]):
    """Called with every final failure, on the task's thread, before the task continues or fails."""

    def report(self, context: ProcessingContext[O]) -> None: ...


class RetryWithTolerance(Generic[O]):
    """Applies the ``errors.*`` properties of one task. Task's thread only."""

    def __init__(
        self,
        config: ErrorHandling,
        reporters: Sequence[ErrorReporter[O]],
        metrics: TaskMetrics,
        wait: Callable[[float], bool],
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
        reports: ErrorReports | None = None,
    ) -> None:
        """``wait`` waits for so many seconds and returns True at once when the task is to stop.

        ``clock`` is in seconds; ``jitter`` returns a number from 0 to 1; ``reports`` are for failures that are retried.
        """
        self.steps: TaskSteps = metrics.steps
        """The task's steps: the failures and retries of each are counted here, its records where it is applied."""
        self._config = config
        self._reporters = tuple(reporters)
        self._metrics = metrics
        self._wait = wait
        self._clock = clock
        self._jitter = jitter
        self._reports = reports or ErrorReports()

    def step(self, operation: Operation) -> Step:
        """Return the counts of the task's step that an operation is part of."""
        return self.steps.of(_STEPS[operation.stage], operation.alias)

    def execute(self, operation: Operation, original: O, call: Callable[[], T]) -> T | Skipped:
        """Return the result of ``call``, tried again as in ``recover``, or SKIPPED; ToleranceExceededError as there."""
        try:
            return call()
        except Exception as error:
            return self.recover(operation, original, error, call)

    def recover(self, operation: Operation, original: O, error: Exception, again: Callable[[], T]) -> T | Skipped:
        """Return the result of an operation whose first attempt failed with ``error``, or SKIPPED.

        ``again`` repeats it, as long as it fails with a RetriableError and ``errors.retry.timeout`` has not passed.
        A final failure is reported, and SKIPPED or a ToleranceExceededError follows; never neither (KAFKA-18073).
        StoppedWhileRetryingError if the task is to stop meanwhile.
        """
        attempt = 1
        timeout = self._config.retry_timeout
        deadline = None if timeout is None else self._clock() + timeout
        self._metrics.add("total-record-failures", 1)
        while isinstance(error, RetriableError) and self._wait_for_retry(operation, original, error, attempt, deadline):
            attempt += 1
            self._metrics.add("total-retries", 1)
            self.step(operation).retries += 1
            self._metrics.report_if_due()
            try:
                result = again()
            except Exception as failure:
                error = failure
                self._metrics.add("total-record-failures", 1)
            else:
                self._reports.succeeded(str(operation))
                return result
        return self._give_up(operation, original, error, attempt)

    def report(self, operation: Operation, original: O, error: Exception) -> None:
        """Report a record that failed and is not tried again (KIP-610): whatever the error, it concerns that record.

        ToleranceExceededError unless it is skipped.
        """
        self._metrics.add("total-record-failures", 1)
        self._finish(ProcessingContext(original, operation, 1, error, self._config.tolerates))

    def _wait_for_retry(
        self, operation: Operation, original: O, error: Exception, attempt: int, deadline: float | None
    ) -> bool:
        """Wait for the next attempt; False if there is none. Delays double from 300 ms, with jitter between tasks."""
        left = None if deadline is None else deadline - self._clock()
        if left is not None and left <= 0:
            return False
        delay = ExponentialBackoff(_FIRST_DELAY, self._config.retry_max_delay).after(attempt)
        delay = max(delay * (1 + self._jitter()) / 2, _LEAST_DELAY)
        delay = delay if left is None else min(delay, left)
        line = f"{operation} failed for {where(original)} and is tried again in {delay:.1f} s: {reason(error)}"
        self._reports.record_retried(operation, original, error, line, delay)
        if self._wait(delay):
            raise StoppedWhileRetryingError(f"stopped while {operation} was tried again for {where(original)}")
        return True

    def _give_up(self, operation: Operation, original: O, error: Exception, attempt: int) -> Skipped:
        tolerated = self._config.tolerates and _tolerable(operation.stage, error)
        return self._finish(ProcessingContext(original, operation, attempt, error, tolerated))

    def _finish(self, context: ProcessingContext[O]) -> Skipped:
        self._metrics.add("total-record-errors", 1)
        self.step(context.operation).errors += 1
        self._metrics.maximum("last-error-timestamp", time.time_ns() // 1_000_000)
        for reporter in self._reporters:
            reporter.report(context)
        if not context.tolerated:
            raise with_context(ToleranceExceededError(self._message(context)), context) from context.error
        self._metrics.add("total-records-skipped", 1)
        return SKIPPED

    def _message(self, context: ProcessingContext[O]) -> str:
        attempts = f" after {context.attempt} attempts" if context.attempt > 1 else ""
        failed = f"{context.operation} failed{attempts} for {where(context.original)}: {reason(context.error)}"
        return failed if self._config.tolerates else f"{failed.rstrip('.')}. {_HINT}"


def _tolerable(stage: Stage, error: Exception) -> bool:
    """Return True if the record may be skipped. As in Java, where running out of memory is no Exception either."""
    if stage in _CONCERNS_ONE_RECORD:
        return not isinstance(error, MemoryError)
    return isinstance(error, RetriableError)
