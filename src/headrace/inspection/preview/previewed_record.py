# SPDX-License-Identifier: Apache-2.0
"""A record on its way through a previewed chain, and its failure by the connector's own handling of errors.

What is shown of the failure stands in the place of its consequences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from headrace.api.error_text import error_trace
from headrace.api.errors import ConnectError
from headrace.config.connector_config import ConnectorConfig
from headrace.model.health import Handling, Stage
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.processing_context import O, Operation, ProcessingContext
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, ToleranceExceededError
from headrace.task.errors.task_errors import record_error, task_error

Json = dict[str, Any]


@dataclass(slots=True)
class PreviewedRecord(Generic[O]):
    """A record that came to the task as ``original``; ``rows`` are the records that it has become so far.

    ``shown`` is its JSON so far. ``outcome`` is None as long as it may continue.
    """

    original: O
    shown: Json
    rows: list[Any]
    steps: list[Json] = field(default_factory=list)
    outcome: str | None = None

    @property
    def goes_on(self) -> bool:
        """True if there is something for the next step."""
        return self.outcome is None and bool(self.rows)

    def end(self, outcome: str, error: Json | None = None) -> None:
        """Note that nothing becomes of it, and why."""
        self.outcome, self.rows = outcome, []
        if error is not None:
            self.shown["error"] = error

    def json(self, outcome: str, results: Sequence[Json]) -> Json:
        """Return what is shown; ``outcome`` is for a record that has come to its end with ``results``."""
        ended = self.outcome or (outcome if results else "dropped")
        shown = {**self.shown, "steps": self.steps, "outcome": ended, "result": results[0] if results else None}
        return {**shown, "results": list(results)} if len(results) > 1 else shown


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
