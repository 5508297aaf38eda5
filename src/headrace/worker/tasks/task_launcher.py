# SPDX-License-Identifier: Apache-2.0
"""The interface of the engine that runs task processes. Implemented by ``headrace.spark``."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.api.errors import ConfigError
from headrace.api.frames import FrameJob
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import SparkAttempt, SparkCores
from headrace.task.task_protocol import AnyRequest, Event
from headrace.task.task_spec import TaskSpec


class TaskListener(Protocol):
    """A listener for one task's attempts. Called on the launcher's threads.

    Each process of a task is a new attempt, also one that Spark has started by itself.
    """

    def on_event(self, task: ConnectorTaskId, event: Event) -> None:
        """Take an event in. For one task called by one thread at a time."""

    def answer(self, task: ConnectorTaskId, request: AnyRequest) -> Any:
        """Return the answer, of the type that the request names; blocks.

        Raise ConfigError if the task can never have it as it is configured; any other error means that it is not known
        yet.
        """


class TaskHandle(Protocol):
    """One launched task. All methods may be called from any thread, and the first four do not block."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def stop(self) -> None:
        """Request it to finish its batch, commit, and call the task's ``stop()``."""

    def kill(self) -> None:
        """Cancel its Spark job and kill its process, whatever it does."""

    def await_stopped(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds; return true when its process is proved gone."""

    def forget_topics(self) -> None:
        """Make it report the topics in use again, each with its next record. Blocks while the process takes nothing."""

    def measure(self) -> None:
        """Request a report of its progress (``Measured``), which follows as an event. Does not block."""

    def spark_attempt(self) -> SparkAttempt | None:
        """Return the running attempt, None while no process has attached; asks Spark, which may take its time."""


class TaskLauncher(Protocol):
    """An engine for tasks. ``start`` returns at once; launches wait for the engine by themselves."""

    def start(self) -> None: ...

    def launch(self, spec: TaskSpec, listener: TaskListener) -> TaskHandle:
        """Launch a task. Does not block; later failures go to the listener."""

    def cores(self) -> SparkCores | None:
        """Return the cores for the tasks of all connectors that share an engine; None while it is not running.

        Any thread; blocks for a moment.
        """

    def analyse(self, job: FrameJob) -> ConfigError | None:
        """Return the error that Spark finds by a job that checks a configuration.

        None if there is no error, or if Spark cannot decide now. Any thread; blocks some seconds.
        """

    def run_job(self, job: FrameJob) -> None:
        """Run a job without input, whose result is of no interest. Any thread; blocks for as long as it takes.

        Raises:
            RetriableError: Spark is not running, or failed; it may work later.
            ConfigError, DataError: the request or the data is at fault.
        """

    def stop(self, timeout: float) -> None:
        """Stop all tasks (killing those that outlast ``timeout`` seconds) and the engine."""
