# SPDX-License-Identifier: Apache-2.0
"""A task's present activity, progress and errors, also those that it retries or tolerates, as its health shows them.

All ages are milliseconds, measured on one machine's monotonic clock: clocks of two machines are never compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from headrace.api.lag import Lag
from headrace.model.step_counts import StepCounts


class Stage(Enum):
    """A task's present activity, or that in which it met an error."""

    STARTING = "starting"
    """Its code is loaded, its ``start`` runs, its former attempt is fenced."""
    POLLING = "polling"
    """A source's ``poll``."""
    READING = "reading"
    """A sink waits for records of its topics."""
    CONVERTING = "converting"
    """Transformations and converters."""
    PRODUCING = "producing"
    """Records are handed to Kafka, or Kafka's answer is awaited."""
    PUTTING = "putting"
    """A sink's ``put``."""
    COMMITTING = "committing"
    """Offsets, or the transaction with them, are committed; of sinks also the ``flush`` before it."""
    STOPPING = "stopping"
    PAUSED = "paused"
    WAITING_FOR_CORES = "waiting for a core"
    """It has no process, since Spark has no core for it or is not running."""


class Handling(Enum):
    """The consequence of an error."""

    RETRIED = "retried"
    TOLERATED = "tolerated"
    """Its record was skipped, or went to the dead letter topic."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TaskError:
    """An error that a task met. Times are milliseconds since the epoch.

    ``position`` is the record's: ``topic``, ``partition`` and ``offset`` of a sink's; ``source_partition`` and
    ``source_offset`` of a source's; None if the error concerns no single record. ``hint`` names the remedy, if known.
    """

    error_class: str
    message: str
    stage: Stage
    handling: Handling
    time_ms: int
    position: Mapping[str, Any] | None = None
    hint: str | None = None
    next_attempt_ms: int | None = None


class TaskConfigsStage(Enum):
    """A step on the way of a connector's task configs to the config topic."""

    COMPUTING = "computing"
    """The connector makes them."""
    PUBLISHING = "publishing"
    """The leader, another worker, takes them."""


@dataclass(frozen=True, slots=True)
class TaskConfigsError:
    """The newest of the failures in a row to get a connector's task configurations, which is retried. Times are ages.

    ``stage`` is what fails: the connector's making of them, or the leader's taking of them.
    """

    error_class: str
    message: str
    stage: str
    age: int
    since: int
    """Age of the first failure in the row."""
    attempts: int
    next_attempt: int
    """Time until the next attempt; 0 while one is under way."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A task's progress as its process measured it; numbers are ages. None for what has not happened, or is not so."""

    stage: Stage
    stage_since: int
    last_poll: int | None = None
    """Of the last poll, or a sink's read, that returned, with records or without."""
    last_record: int | None = None
    """Of the last batch with records that a source gave to its producer, or for which a sink's ``put`` returned."""
    last_commit: int | None = None
    transaction_open: int | None = None
    transaction_interval: int | None = None
    """The time for which a transaction may stay open, of a task with ``transaction.boundary=interval``."""
    lag: Lag | None = None
    """Of a source whose task returns one."""
    lag_since: int | None = None
    """Age of the lag, of a sink's too: since when it is above 0 and has not shrunk, while the task is not paused."""


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A worker's knowledge of a task that it runs, or was the last to run. Ages count until now; None is unknown.

    Rates are averages of the last minute; that of bytes is estimated from a sample of records. ``measured`` is the age
    of the newest report of the process. ``silent`` is the age of a request for one that the process has not answered
    yet.
    """

    progress: Progress
    attempt: int
    """Age of the attempt, or of the launch while it has no process."""
    measured: int | None = None
    silent: int | None = None
    records_per_second: float | None = None
    bytes_per_second: float | None = None
    last_error: TaskError | None = None
    error_age: int | None = None
    error_since: int | None = None
    """Age of the first of the errors that ``last_error`` is the newest of, each soon after the one before."""
    errors: Mapping[str, int] = field(default_factory=dict)
    restarts: int = 0
    restarts_lately: int = 0
    """Those of the last minute."""
    restart_reason: str | None = None
    restart_age: int | None = None
    lag: Mapping[str, int] | None = None
    """Records that a sink is behind, by partition (``topic-0``)."""
    steps: Sequence[StepCounts] = ()
    """Of the present attempt, or the last one; empty before its first report."""

    @property
    def next_attempt(self) -> int | None:
        """Return the time until the next attempt at what failed; None if none is known, or it is past."""
        error = self.last_error
        if error is None or error.next_attempt_ms is None or self.error_age is None:
            return None
        left = error.next_attempt_ms - error.time_ms - self.error_age
        return left if left >= 0 else None
