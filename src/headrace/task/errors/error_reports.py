# SPDX-License-Identifier: Apache-2.0
"""The errors that an attempt meets and survives, as its worker and its log get them."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic

from headrace.api.error_text import error_text
from headrace.model.health import Handling, Stage, TaskError
from headrace.task.errors.processing_context import O, Operation, Original, ProcessingContext
from headrace.task.errors.task_errors import STAGES, position_of, record_error, task_error
from headrace.task.task_protocol import ErrorMet, ProcessEvent

log = logging.getLogger(__name__)
_WRITING: Final = "writing to Kafka"
_SEND_EVERY_S: Final = 1.0
_LOG_EVERY_S: Final = 60.0
_SHORT_S: Final = 1.0
_MOST_REASONS: Final = 16
"""Reasons of one operation that each get a line of their own."""
_VARYING: Final = re.compile(r"[0-9a-f]{8,}|\d+(\.\d+)?")
"""The parts of a text that differ between two errors of one reason: numbers, and names of temporary files."""


@dataclass(slots=True)
class _Operation:
    """An operation that has failed, and the lines of the log for it. Times are by the reports' clock."""

    reasons: set[str] = field(default_factory=set)
    next_line: float = 0.0
    outage: _Outage | None = None


@dataclass(slots=True)
class _Outage:
    """Consecutive failures of one operation."""

    since: float
    began: datetime
    last: float = 0.0
    failures: int = 0
    logged: bool = False


class ErrorReports:
    """The reports of one attempt. Thread-safe: a commit may run beside the task's thread.

    The worker gets the first error at once, and then the newest one, at most one a second. The log gets a line with the
    trace for each new reason, a line a minute while it lasts, and one when it is over. An operation that fails again
    and again, and each time succeeds within a second, has a line a minute too.
    """

    def __init__(
        self,
        send: Callable[[ProcessEvent], None] = lambda event: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock`` is in seconds."""
        self._send = send
        self._clock = clock
        self._lock = threading.Lock()
        self._next_send = float("-inf")
        self._waiting: TaskError | None = None
        self._operations: dict[str, _Operation] = {}

    def retried(
        self,
        operation: str,
        stage: Stage,
        error: BaseException,
        line: str,
        *,
        delay: float | None = None,
        position: Mapping[str, Any] | None = None,
    ) -> None:
        """Report an error after which ``operation`` is retried, ``delay`` seconds from now; ``line`` is for the log.

        ``operation`` is its name in the log, and the same for each attempt.
        """
        met = task_error(error, stage, Handling.RETRIED, position=position, delay=delay)
        with self._lock:
            self._send_in_turn(met)
            known = self._operations.setdefault(operation, _Operation())
            outage = known.outage = self._failed_again(known.outage)
            self._log(known, outage, error, line if met.hint is None else f"{line} ({met.hint})")

    def record_retried(
        self, operation: Operation, original: Original, error: BaseException, line: str, delay: float
    ) -> None:
        """Report an error of one record as ``retried`` does."""
        self.retried(str(operation), STAGES[operation.stage], error, line, delay=delay, position=position_of(original))

    def transport_error(self, error: BaseException) -> None:
        """Report that brokers cannot be reached while records are on their way; their client retries."""
        self.retried(_WRITING, Stage.PRODUCING, error, f"{error_text(error)}; it is retried")

    def written(self) -> None:
        """Note that brokers have taken all records."""
        self.succeeded(_WRITING)

    def tolerated(self, error: TaskError) -> None:
        """Report the error of a record that is skipped; ``errors.log.enable`` decides if it is logged."""
        with self._lock:
            self._send_in_turn(error)

    def succeeded(self, operation: str) -> None:
        """Note that ``operation`` has succeeded; the log gets a line if it had failed before."""
        with self._lock:
            known = self._operations.get(operation)
            if known is None or known.outage is None:
                return
            outage, known.outage = known.outage, None
        if outage.logged:
            seconds, times = self._clock() - outage.since, _times(outage.failures)
            log.info("%s succeeded again after %.0f s, in which it had failed %s", operation, seconds, times)

    def send_waiting(self) -> None:
        """Send the newest error if it was not sent yet and its turn has come. To be called about once a second."""
        with self._lock:
            if self._waiting is not None:
                self._send_in_turn(self._waiting)

    def _send_in_turn(self, error: TaskError) -> None:
        now = self._clock()
        if now < self._next_send:
            self._waiting = error
            return
        self._next_send, self._waiting = now + _SEND_EVERY_S, None
        self._send(ErrorMet(error))

    def _failed_again(self, outage: _Outage | None) -> _Outage:
        now = self._clock()
        # One in which nothing was attempted for so long has ended unnoticed.
        if outage is None or now - outage.last > 2 * _LOG_EVERY_S:
            outage = _Outage(now, datetime.now())
        outage.last = now
        outage.failures += 1
        return outage

    def _log(self, known: _Operation, outage: _Outage, error: BaseException, line: str) -> None:
        now, reason = self._clock(), _VARYING.sub("#", line)
        is_new = reason not in known.reasons and len(known.reasons) < _MOST_REASONS
        lasts = not outage.logged and now - outage.since >= _SHORT_S
        if not (is_new or lasts or now >= known.next_line):
            return
        known.reasons.add(reason)
        known.next_line, outage.logged = now + _LOG_EVERY_S, True
        if outage.failures > 1:
            line = f"{line}; it has failed {_times(outage.failures)} since {outage.began:%H:%M:%S}"
        log.warning("%s", line, exc_info=error if is_new else None)


class ToleratedErrorReporter(Generic[O]):
    """Reports records that are skipped. One that is not ends the attempt, and is part of its outcome."""

    def __init__(self, reports: ErrorReports) -> None:
        self._reports = reports

    def report(self, context: ProcessingContext[O]) -> None:
        if context.tolerated:
            self._reports.tolerated(record_error(context))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
