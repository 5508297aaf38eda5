# SPDX-License-Identifier: Apache-2.0
"""The connector's own handling of errors, with a note of the record's failure in the place of its consequences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic

from headrace.api.error_text import error_trace
from headrace.api.errors import ConnectError
from headrace.config.connector_config import ConnectorConfig
from headrace.inspection.preview.previewed_record import PreviewedRecord
from headrace.model.health import Handling, Stage
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.processing_context import O, Operation, ProcessingContext
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, ToleranceExceededError
from headrace.task.errors.task_errors import record_error, task_error

Json = dict[str, Any]


class Failures(Generic[O]):
    """The final failure of the record that is processed; an ``ErrorReporter``. One thread."""

    def __init__(self) -> None:
        self._met: ProcessingContext[O] | None = None

    def report(self, context: ProcessingContext[O]) -> None:
        self._met = context

    def take(self) -> ProcessingContext[O] | None:
        """Return the failure since the last call."""
        met, self._met = self._met, None
        return met


def error_handling(assembly: TaskAssembly[Any, O], failures: Failures[O]) -> RetryWithTolerance[O]:
    """Return the ``errors.*`` of the task, without retries."""
    handling = replace(assembly.config.error_handling, retry_timeout=0.0)
    wait = assembly.control.wait_for_stop
    return RetryWithTolerance(handling, [failures], assembly.metrics, wait, reports=assembly.reports)


@contextmanager
def ending(record: PreviewedRecord[O], failures: Failures[O], config: ConnectorConfig, stage: str) -> Iterator[None]:
    """End the record if the block fails, as the connector's ``errors.*`` say; ``stage`` is for other errors."""
    try:
        yield
    except ToleranceExceededError:
        pass
    except Exception as error:
        record.end("fails the task", error_json(error, stage))
    if (failure := failures.take()) is not None:
        record.end(*failure_json(failure, config))


def failure_json(context: ProcessingContext[Any], config: ConnectorConfig) -> tuple[str, Json]:
    """Return the outcome of a record that failed, and the failure."""
    error, operation = record_error(context), context.operation
    shown = {
        "stage": operation.stage.value,
        "transform": operation.alias,
        "class": operation.executing_class,
        "error": error.error_class,
        "message": error.message,
        "hint": error.hint,
    }
    queue = config.dead_letter_queue
    if not context.tolerated:
        return "fails the task", shown
    if queue is None:
        return "skipped", shown
    return "dead letter", {**shown, "deadLetterTopic": queue.topic}


def step_failure_json(error: BaseException, operation: Operation) -> Json:
    """Return an error of a step on frames that is not that of a record."""
    where = {"transform": operation.alias, "class": operation.executing_class}
    return {**error_json(error, operation.stage.value), **where}


def error_json(error: BaseException, stage: str) -> Json:
    """Return an error of a connector's or task's own method; with its trace, unless it is for users."""
    met = task_error(error, Stage.STARTING, Handling.FAILED)
    shown: Json = {"stage": stage, "error": met.error_class, "message": met.message, "hint": met.hint}
    return shown if isinstance(error, ConnectError) else {**shown, "trace": error_trace(error)}
