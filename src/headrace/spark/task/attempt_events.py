# SPDX-License-Identifier: Apache-2.0
"""The events that the machine of a task's attempts takes in.

``process`` is the number of a process that has attached, in the order of attaching, whether it becomes an attempt or
not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headrace.task.task_protocol import Ended


@dataclass(frozen=True, slots=True)
class Begin:
    """The launch begins; once."""


@dataclass(frozen=True, slots=True)
class SetPaused:
    """The task's target state has changed."""

    paused: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """The task is to end when its process has finished its batch."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The task is to end at once, whatever its process does."""


@dataclass(frozen=True, slots=True)
class JobEnded:
    """The Spark job that was submitted is over; ``ended`` counts unless its process has reported an outcome.

    ``died``: the thread that ran it has died, and the task with it, whatever else has happened.
    """

    ended: Ended
    died: bool = False


@dataclass(frozen=True, slots=True)
class CannotStart:
    """The engine is not there, or has no core for a process."""

    reason: str


@dataclass(frozen=True, slots=True)
class Attached:
    """A process that Spark has started waits for its task."""

    process: int
    pid: int


@dataclass(frozen=True, slots=True)
class ConfirmAsked:
    """The attempt has asked for its GO, by the request ``question``."""

    process: int
    question: int


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The worker's answer about a process: its GO, or the outcome of one that may not start."""

    process: int
    refusal: Ended | None
    question: int | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """The attempt has committed offsets."""


@dataclass(frozen=True, slots=True)
class Done:
    """The attempt has reported its outcome; its process is about to end."""

    process: int
    ended: Ended


@dataclass(frozen=True, slots=True)
class Died:
    """The end of the attempt's process as far as it is known, in words after "was lost"; before ``ProcessGone``.

    ``by_plugin``: a plugin's own code has ended it, which would end each further process, too.
    """

    process: int
    how: str
    by_plugin: bool = False


@dataclass(frozen=True, slots=True)
class ProcessGone:
    """The attempt's process has ended or was disconnected, and all that it has sent was handled."""

    process: int


@dataclass(frozen=True, slots=True)
class FrameJobsEnded:
    """The frame jobs of an attempt whose process is gone have ended, or have had their time."""

    process: int


@dataclass(frozen=True, slots=True)
class Waited:
    """The wait of this number is over."""

    wait: int


AttemptEvent: TypeAlias = (
    Begin
    | SetPaused
    | Stop
    | Kill
    | JobEnded
    | CannotStart
    | Attached
    | ConfirmAsked
    | Confirmed
    | Committed
    | Done
    | Died
    | ProcessGone
    | FrameJobsEnded
    | Waited
)
