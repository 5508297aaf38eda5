# SPDX-License-Identifier: Apache-2.0
"""The life of one attempt in its process, from START to its end. Java: ``WorkerTask``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from headrace.api.error_text import error_line, error_text, error_trace
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.protected_files import protect
from headrace.kafka.errors import ProducerFencedError, RetriableKafkaError
from headrace.model.health import Handling, Stage
from headrace.task.errors.task_errors import final_error
from headrace.task.task_protocol import ConfirmStart, Ended, Outcome, Paused, Running
from headrace.task.task_spec import TaskKind, TaskSpec
from headrace.task.worker_link import TaskControl, WorkerLink

log = logging.getLogger(__name__)


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
    """Run one attempt to its end; never raises.

    On the main thread of its process, or on one of its own in a process that several tasks share.
    """
    try:
        return _run_attempt(spec, link, control, factories)
    except ProducerFencedError as error:
        return Ended(Outcome.FENCED, error_text(error), final_error(error, Handling.RETRIED, control.progress.stage))
    except RetriableKafkaError as error:
        return Ended(Outcome.TAINTED, error_text(error), final_error(error, Handling.RETRIED, control.progress.stage))
    except ConfigError as error:
        return Ended(Outcome.FAILED, error_text(error), final_error(error, Handling.FAILED, control.progress.stage))
    except BaseException as error:
        trace = f"{_headline(error)}\n{error_trace(error)}"
        return Ended(Outcome.FAILED, trace, final_error(error, Handling.FAILED, control.progress.stage))


def _run_attempt(spec: TaskSpec, link: WorkerLink, control: TaskControl, factories: TaskFactories) -> Ended:
    if not _may_start(link, control):
        return Ended(Outcome.STOPPED)
    protect(spec.protected_paths)
    task = factories[spec.kind](spec, link, control)
    try:
        task.init()
        # Between init and here the task may have been taken away; only the worker knows (invariant 4).
        if not link.ask(ConfirmStart()):
            return Ended(Outcome.ABANDONED)
        if control.stopping:
            return Ended(Outcome.STOPPED)
        task.start()
        if not control.stopping:
            link.send(Running())
        task.execute()
        control.progress.enter(Stage.STOPPING)
    finally:
        _close(task, spec)
    return Ended(Outcome.STOPPED)


def _may_start(link: WorkerLink, control: TaskControl) -> bool:
    """Return False if the task is to stop. One paused from the start does nothing, not even fence, until resumed."""
    if control.paused and not control.stopping:
        control.progress.enter(Stage.PAUSED)
        link.send(Paused())
        control.wait_while_paused()
        control.progress.enter(Stage.STARTING)
    return not control.stopping


def _headline(error: BaseException) -> str:
    return error_text(error) if isinstance(error, ConnectError) else error_line(error)


def _close(task: RunnableTask, spec: TaskSpec) -> None:
    try:
        task.close()
    except BaseException:  # SystemExit too: the outcome of the attempt is what counts
        log.exception("closing task %s failed", spec.id)
