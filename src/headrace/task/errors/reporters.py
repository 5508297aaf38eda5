# SPDX-License-Identifier: Apache-2.0
"""Reporters of records that failed: to the log, and to a dead letter topic.

Java: ``LogReporter``, ``DeadLetterQueueReporter``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic

from headrace.api.record import TimestampType
from headrace.config.connector_config import ErrorHandling
from headrace.model.ids import ConnectorTaskId
from headrace.task.errors.dead_letters import DeadLetter, create_dead_letter, error_headers
from headrace.task.errors.processing_context import ConsumedRecord, O, Original, ProcessingContext, where
from headrace.task.task_metrics import TaskMetrics

log = logging.getLogger(__name__)


class LogReporter(Generic[O]):
    """Logs failures with ``errors.log.enable``, and their records with ``errors.log.include.messages``."""

    def __init__(self, task: ConnectorTaskId, config: ErrorHandling, metrics: TaskMetrics) -> None:
        self._task = task
        self._config = config
        self._metrics = metrics

    def report(self, context: ProcessingContext[O]) -> None:
        if self._config.log:
            log.error("%s", self._message(context), exc_info=context.error)
            self._metrics.add("total-errors-logged", 1)

    def _message(self, context: ProcessingContext[O]) -> str:
        operation = context.operation
        alias = "" if operation.alias is None else f" of transformation '{operation.alias}'"
        record = _shown(context.original) if self._config.log_messages else ""
        return (
            f"Error encountered in task {self._task}. Executing stage '{operation.stage.value}' "
            f"with class '{operation.executing_class}'{alias}{record}."
        )


class DeadLetterQueueReporter(Generic[O]):
    """Sends skipped records to the dead letter topic. Task's thread only.

    A record that is not skipped is not sent: its offset is not committed, so it is read again.
    """

    def __init__(
        self,
        task: ConnectorTaskId,
        context_headers: bool,
        send: Callable[[DeadLetter], None],
        metrics: TaskMetrics,
        fits: Callable[[DeadLetter], bool] = lambda letter: True,
    ) -> None:
        """``send`` is called with each letter. ``fits`` returns False if one is too large.

        Then it has no key and value, and only the headers that describe the failure.
        """
        self._fits = fits
        self._task = task
        self._context_headers = context_headers
        self._send = send
        self._metrics = metrics

    def report(self, context: ProcessingContext[O]) -> None:
        if context.tolerated:
            self._metrics.add("deadletterqueue-produce-requests", 1)
            letter = create_dead_letter(self._task, context, self._context_headers)
            if not self._fits(letter):
                message = "task %s: the dead letter topic takes no more than headers of %s"
                log.error(message, self._task, where(context.original))
                letter = DeadLetter(None, None, error_headers(self._task, context), letter.timestamp)
            self._send(letter)


def _shown(original: Original) -> str:
    if not isinstance(original, ConsumedRecord):
        return f", where source record is = {original!r}"
    timestamp = ""
    if original.timestamp_type is not TimestampType.NO_TIMESTAMP_TYPE:
        timestamp = f", timestamp={original.timestamp}, timestampType={original.timestamp_type.value}"
    return (
        f", where consumed record is {{topic='{original.topic}', partition={original.partition}, "
        f"offset={original.offset}{timestamp}}}"
    )
