# SPDX-License-Identifier: Apache-2.0
"""The life of one attempt in its process, from START to its end. Java: ``WorkerTask``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from headrace.api.error_text import error_line, error_text, error_trace
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.protected_files import protect
from headrace.kafka.errors import ProducerFencedError, RetriableKafkaError
from headrace.task.task_spec import TaskKind, TaskSpec
from headrace.task.worker_link import TaskControl, WorkerLink

log = logging.getLogger(__name__)


class Outcome(Enum):
    """The end of an attempt, which decides if another one follows."""

    STOPPED = "stopped"
    """It was asked to stop, and has."""
    ABANDONED = "abandoned"
    """The task was taken away before it polled."""
    FAILED = "failed"
    """Its code or data is at fault; a new attempt would fail again."""
    TAINTED = "tainted"
    """Something is uncertain; a new attempt finds out what is committed (invariant 5)."""
    FENCED = "fenced"
    """Another producer took its transactional id over (invariant 2)."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt's outcome with its reason, or its trace if it FAILED."""

    outcome: Outcome
    reason: str = ""


class RunnableTask(Protocol):
    """A source or sink task, created and not yet started. Called on the task's thread in this order."""

    def init(self) -> None:
        """Fence older attempts; before the worker's GO."""

    def start(self) -> None:
        """Start the plugin's task, unless a stop was asked for meanwhile."""

    def execute(self) -> None:
        """Run the task's loop until it is asked to stop."""

    def close(self) -> None: ...


TaskFactories = Mapping[TaskKind, Callable[[TaskSpec, WorkerLink, TaskControl], RunnableTask]]


def run_task(spec: TaskSpec, link: WorkerLink, control: TaskControl, factories: TaskFactories) -> Ended:
    """Run one attempt to its end; never raises. On the main thread of the task's process."""
    try:
        return _run_attempt(spec, link, control, factories)
    except ProducerFencedError as error:
        return Ended(Outcome.FENCED, error_text(error))
    except RetriableKafkaError as error:
        return Ended(Outcome.TAINTED, error_text(error))
    except ConfigError as error:
        return Ended(Outcome.FAILED, error_text(error))
    except BaseException as error:
        return Ended(Outcome.FAILED, f"{_headline(error)}\n{error_trace(error)}")


def _run_attempt(spec: TaskSpec, link: WorkerLink, control: TaskControl, factories: TaskFactories) -> Ended:
    if not _may_start(link, control):
        return Ended(Outcome.STOPPED)
    protect(spec.protected_paths)
    task = factories[spec.kind](spec, link, control)
    try:
        task.init()
        # Between init and here the task may have been taken away; only the worker knows (invariant 4).
        if not link.confirm_start():
            return Ended(Outcome.ABANDONED)
        if control.stopping:
            return Ended(Outcome.STOPPED)
        task.start()
        if not control.stopping:
            link.report_running()
        task.execute()
    finally:
        _close(task, spec)
    return Ended(Outcome.STOPPED)


def _may_start(link: WorkerLink, control: TaskControl) -> bool:
    """Return False if the task is to stop. One paused from the start does nothing, not even fence, until resumed."""
    if control.paused and not control.stopping:
        link.report_paused()
        control.wait_while_paused()
    return not control.stopping


def _headline(error: BaseException) -> str:
    return error_text(error) if isinstance(error, ConnectError) else error_line(error)


def _close(task: RunnableTask, spec: TaskSpec) -> None:
    try:
        task.close()
    except BaseException:  # SystemExit too: the outcome of the attempt is what counts
        log.exception("closing task %s failed", spec.id)
