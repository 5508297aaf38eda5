# SPDX-License-Identifier: Apache-2.0
"""The state of a launch's attempts, which ``attempt_machine`` changes: phase, processes, outcome."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from headrace.spark.task.attempt_events import JobEnded
from headrace.task.task_protocol import Ended


class Phase(Enum):
    """The phase of a launch."""

    NEW = "new"
    SUBMITTED = "submitted"
    """Its Spark job is submitted; no process has attached, or none that may become an attempt."""
    BACKING_OFF = "backing off"
    """A process has attached and has to wait, as the one before it was lost."""
    CONFIRMING = "confirming"
    """The worker is asked whether the process that has attached may follow the one before it."""
    RUNNING = "running"
    """An attempt lives."""
    REPLACING = "replacing"
    """Another process has attached, so Spark has given up the attempt, which is being ended."""
    CLOSING = "closing"
    """The job is over; the attempt has some time to end, and is killed then."""
    FRAMES_ENDING = "frames ending"
    """The attempt's process is gone. A cancelled frame job may still write at its end: a successor must read that."""
    RESUBMITTING = "resubmitting"
    """The job is over, no attempt is left, and there is a wait before the next job."""
    ENDED = "ended"


_WITHOUT_JOB: Final = (Phase.NEW, Phase.RESUBMITTING, Phase.ENDED)
_ALIVE: Final = (Phase.RUNNING, Phase.REPLACING, Phase.CLOSING)
WITHOUT_PROCESS: Final = (Phase.SUBMITTED, Phase.BACKING_OFF, Phase.CONFIRMING)


@dataclass(frozen=True, slots=True)
class Process:
    """A process that has attached, and may become an attempt."""

    number: int
    pid: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """A process that was sent its task; ``number`` counts a launch's attempts from 0.

    ``death`` is what is known of its end, in words that follow "was lost".
    """

    number: int
    process: int
    pid: int
    death: str = ""

    @property
    def loss(self) -> str:
        """The loss of its process, in words."""
        return f"its process {self.pid} was lost{self.death}"


@dataclass(frozen=True, slots=True)
class AttemptState:
    """One launch. ``paused`` is the task's target state."""

    paused: bool = False
    phase: Phase = Phase.NEW
    history: tuple[Phase, ...] = (Phase.NEW,)
    stopping: bool = False
    attempts: int = 0
    """The number of the next attempt; one that was refused has had one, too."""
    attempt: Attempt | None = None
    attached: tuple[Process, ...] = ()
    """The processes that wait to become attempts, the next one first."""
    job_end: JobEnded | None = None
    """The end of the latest job while an attempt of it is left."""
    ended: Ended | None = None
    """The latest job's outcome as its process has reported it: no other process of it becomes an attempt."""
    lost: bool = False
    """True if the latest job's latest process has ended without an outcome."""
    failures: int = 0
    """Attempts that have failed since the last commit."""
    waits: int = 0

    @property
    def wanted(self) -> bool:
        """True unless the task is to end, or the job's outcome is known."""
        return not self.stopping and self.ended is None

    @property
    def job_runs(self) -> bool:
        """True while a job is submitted."""
        return self.job_end is None and self.phase not in _WITHOUT_JOB

    @property
    def alive(self) -> Attempt | None:
        """The attempt, while its process may live."""
        return self.attempt if self.phase in _ALIVE else None

    @property
    def without_process(self) -> bool:
        """True if its job is submitted, and no process has been sent the task."""
        return self.phase in WITHOUT_PROCESS and self.wanted
