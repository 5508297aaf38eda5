# SPDX-License-Identifier: Apache-2.0
"""A JVM of Spark's, this process' own (``SparkJvm``) or another process' (``HostedJvm``): its Protocols.

With them the place of a job in it, and the delay of its next start after a failed one, or a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from headrace.model.backoff import ExponentialBackoff
from headrace.spark.channel.messages import FrameJobEnded, RunFrameJob
from headrace.spark.engine.slots import Cores

if TYPE_CHECKING:
    from pyspark import SparkContext

_BACKOFF: Final = ExponentialBackoff(1.0, 30.0)
_STEADY_S: Final = 60.0
"""A session that has lived so long has not failed at its start."""


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job of one Spark task. ``executor`` and ``host`` are None while it waits for a core."""

    app_id: str
    job_id: int | None = None
    executor: str | None = None
    host: str | None = None


class JvmProcess(Protocol):
    """The operating system's process that the JVM starts in, and ends with."""

    def kill(self) -> None: ...

    def last_words(self) -> str | None:
        """Return the last error that the JVM has printed or logged; None if there is none."""


class Jvm(Protocol):
    """A JVM with its Spark application, which is up. Thread-safe."""

    killed: bool
    """True if it was ended on purpose, while jobs ran."""

    def __hash__(self) -> int:
        """Hash by identity."""

    def run_task_job(self, group: str, description: str) -> None:
        """Run one task's job to its end."""

    def run_frame_job(self, key: str, group: str, description: str, request: RunFrameJob) -> FrameJobEnded:
        """Run a frame job of the task's launch ``key``; jobs of a launch share a session."""

    def close_frame_session(self, key: str) -> None:
        """Close the session of the launch ``key``: no frame job of it follows."""

    def cancel(self, group: str) -> None: ...

    def running(self, group: str) -> RunningJob:
        """Return the newest job of a group, and its executor."""

    def unscheduled(self, group: str) -> bool:
        """Return True if a job of the group is there of which nothing runs."""

    def cores(self) -> Cores:
        """Return the cores of its executors, as Spark has last counted them."""

    def is_unknown_to_master(self) -> bool:
        """Return True if the cluster's master is there and does not know this application."""

    @property
    def process_alive(self) -> bool:
        """True if the JVM's process is there, by the operating system alone."""

    def alive(self) -> bool:
        """Return True if jobs can still be run."""

    def send_log_levels(self, levels: Mapping[str, int]) -> None:
        """Set the levels of its process' loggers."""

    def stop(self) -> None:
        """Stop it in order, and by force if that takes too long."""

    def kill(self) -> None:
        """End it at once, with all jobs."""


def running_job(context: SparkContext, group: str) -> RunningJob:
    """Return the newest job of a group, from Spark's driver."""
    app_id = str(context.applicationId)
    tracker = context.statusTracker()
    job_id = max(tracker.getJobIdsForGroup(group), default=None)
    info = tracker.getJobInfo(job_id) if job_id is not None else None
    if info is None:
        return RunningJob(app_id, job_id)
    store = context._jsc.sc().statusStore()
    for stage in info.stageIds:
        tasks = store.taskList(stage, store.lastStageAttempt(stage).attemptId(), 100)
        for task in map(tasks.apply, range(tasks.size())):
            if task.status() == "RUNNING":
                return RunningJob(app_id, job_id, str(task.executorId()), str(task.host()))
    return RunningJob(app_id, job_id)


@dataclass(frozen=True, slots=True)
class Restarts:
    """The history of starts. ``failures``: those in a row that failed, at once or soon after."""

    failures: int = 0

    def failed(self) -> Restarts:
        """Return the history after a start that failed."""
        return Restarts(self.failures + 1)

    def lost(self, lived: float) -> Restarts:
        """Return the history after the loss of a session that lived for so many seconds."""
        return Restarts() if lived >= _STEADY_S else self.failed()

    @property
    def delay(self) -> float:
        """Seconds until the next start; they double with each failure, up to half a minute."""
        return _BACKOFF.after(self.failures)
