# SPDX-License-Identifier: Apache-2.0
"""The worker's answers to a task's requests, with one kind of refusal for all errors."""

from __future__ import annotations

import logging

from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConfigError, ConnectError
from headrace.model.ids import ConnectorTaskId
from headrace.task.task_protocol import (
    Answered,
    AnyRequest,
    ConfirmStart,
    Ended,
    Outcome,
    ReadOffsets,
    Refusal,
    WriteOffsets,
)
from headrace.worker.tasks.task_launcher import TaskListener

log = logging.getLogger(__name__)


class WorkerAnswers:
    """Answers of the listener of one task. Thread-safe; all methods block for as long as the listener does."""

    def __init__(self, id: ConnectorTaskId, listener: TaskListener) -> None:
        self._id = id
        self._listener = listener

    def answered(self, number: int, request: AnyRequest) -> Answered:
        """Return the answer to the request of this number; never raises."""
        try:
            return Answered(number, self._listener.answer(self._id, request))
        except Exception as error:
            return Answered(number, refusal=self._refusal(request, error))

    def start_refusal(self) -> Ended | None:
        """Return the outcome of a process that may not start here; None if it may (invariant 4)."""
        answered = self.answered(0, ConfirmStart())
        if answered.refusal is not None:
            outcome = Outcome.FAILED if answered.refusal.for_good else Outcome.TAINTED
            return Ended(outcome, answered.refusal.reason)
        return None if answered.answer else Ended(Outcome.ABANDONED)

    def _refusal(self, request: AnyRequest, error: Exception) -> Refusal:
        """Return the answer to the task about an error, once it is logged."""
        for_good, defect = isinstance(error, ConfigError), not isinstance(error, ConnectError)
        match request:
            case ConfirmStart() if not for_good:
                # Without an answer it must not start; the attempt ends and another one repeats the request.
                log.warning("task %s may not start yet: %s", self._id, error, exc_info=defect)
            case ReadOffsets():
                log.warning("offsets of task %s could not be read: %s", self._id, error, exc_info=defect)
            case WriteOffsets() if defect:
                log.error("offsets of task %s could not be written", self._id, exc_info=True)
        return Refusal(error_text(error) or error_line(error), for_good)


def start_answer(number: int, refusal: Ended | None) -> Answered:
    """Return the answer to a request for GO."""
    if refusal is None or refusal.outcome is Outcome.ABANDONED:
        return Answered(number, refusal is None)
    return Answered(number, refusal=Refusal(refusal.reason, refusal.outcome is Outcome.FAILED))
