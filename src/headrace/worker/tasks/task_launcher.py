# SPDX-License-Identifier: Apache-2.0
"""The interface of the engine that runs task processes. Implemented by ``headrace.spark``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headrace.api.errors import ConfigError
from headrace.api.frames import FrameJob
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import SparkAttempt
from headrace.task.task_spec import TaskSpec
from headrace.task.worker_task import Outcome


class TaskListener(Protocol):
    """A listener for one task's attempts. Called on the launcher's threads, for one task by one thread at a time.

    ``attempt`` counts a task's processes from 0; each process is a new attempt, whoever started it.
    """

    def attempt_started(self, task: ConnectorTaskId, attempt: int, pid: int) -> None:
        """A process has attached and was sent its task."""

    def confirm_start(self, task: ConnectorTaskId, attempt: int) -> bool:
        """Return true if the attempt may poll (GO), false if the task was taken away (ABANDON).

        Called after the attempt's ``init_transactions``. Reads the config topic to the end, so it blocks (invariants 4
        and 6). Raise ConfigError if the task can never start as it is configured; any other error means that it is not
        known yet.
        """

    def read_offsets(
        self, task: ConnectorTaskId, partitions: Sequence[Mapping[str, Any]]
    ) -> list[Mapping[str, Any] | None]:
        """Return source offsets, after a read to the end of the offsets topics (invariant 3); blocks.

        Raise ConfigError if they can never be read as the task is configured.
        """

    def write_offsets(self, task: ConnectorTaskId, records: Mapping[bytes, bytes | None]) -> None:
        """Write source offsets for a task whose worker has no offsets topic; blocks.

        Keys and values are those of ``offset_codec``. Raise ConnectError if they are not written, or may not be.
        """

    def running(self, task: ConnectorTaskId) -> None:
        """The task's ``start`` returned and it polls; also after a resume."""

    def paused(self, task: ConnectorTaskId) -> None:
        """The task stopped polling on a request to pause."""

    def offsets_committed(
        self, task: ConnectorTaskId, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> None:
        """Source offsets that have just become visible, as (partition, offset)."""

    def topics_used(self, task: ConnectorTaskId, topics: Sequence[str]) -> None:
        """Topics seen for the first time by this attempt (KIP-558), or since ``forget_topics``."""

    def metrics(self, task: ConnectorTaskId, values: Mapping[str, float]) -> None:
        """The attempt's figures, about once a second while they change."""

    def reconfiguration_requested(self, task: ConnectorTaskId) -> None:
        """The task's code requested new task configs."""

    def failed(self, task: ConnectorTaskId, trace: str) -> None:
        """The task's own code or data failed; it stays down until it is restarted."""

    def restarting(self, task: ConnectorTaskId, reason: str, outcome: Outcome | None = None) -> None:
        """An attempt died without failing; another one follows.

        ``outcome`` is the attempt's own report, TAINTED or FENCED; None for one that was killed or lost with its
        executor.
        """

    def waiting(self, task: ConnectorTaskId, reason: str) -> None:
        """The task has no process, since the engine has no room for one or is not there.

        Called again when the reason changes. The one call that may come from another thread beside, and late: it means
        nothing for a task that has a process, has failed or has stopped.
        """

    def stopped(self, task: ConnectorTaskId) -> None:
        """No process of the task is left and none will follow. The last call for this launch."""


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
        """Make it report the topics in use anew, each with its next record. Blocks while the process takes nothing."""

    def spark_attempt(self) -> SparkAttempt | None:
        """Return the running attempt, None while no process has attached; asks Spark, which may take its time."""


class TaskLauncher(Protocol):
    """An engine for tasks. ``start`` returns at once; launches wait for the engine by themselves."""

    def start(self) -> None: ...

    def launch(self, spec: TaskSpec, listener: TaskListener) -> TaskHandle:
        """Launch a task. Does not block; later failures go to the listener."""

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
