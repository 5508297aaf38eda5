# SPDX-License-Identifier: Apache-2.0
"""The actions that the machine of a task's attempts orders.

``process`` is the number of a process that has attached, in the order of attaching, whether it becomes an attempt or
not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headrace.task.task_protocol import Command, Ended, EngineEvent


@dataclass(frozen=True, slots=True)
class SubmitJob:
    """Submit the task's Spark job, unless the connector's frame jobs have ended the engine too often."""


@dataclass(frozen=True, slots=True)
class CancelJob:
    """Have Spark cancel the job."""


@dataclass(frozen=True, slots=True)
class SendStart:
    """Send a process its task, which makes it an attempt."""

    process: int
    paused: bool


@dataclass(frozen=True, slots=True)
class Serve:
    """Receive the attempt's messages from now on; they go to the listener."""

    process: int


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Send a process STOP in place of its task."""

    process: int


@dataclass(frozen=True, slots=True)
class Send:
    """Send the attempt a command."""

    process: int
    command: Command


@dataclass(frozen=True, slots=True)
class KillProcess:
    """Kill the attempt's process; ``break_off``: and break its channel, which a child of it may hold."""

    process: int
    break_off: bool = False


@dataclass(frozen=True, slots=True)
class AskWorker:
    """Ask the listener whether a process may start; its own request is ``question``, if it has sent one."""

    process: int
    question: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Send the attempt the answer to its request for GO."""

    process: int
    question: int
    refusal: Ended | None


@dataclass(frozen=True, slots=True)
class AwaitExit:
    """Wait for the end of a process for as long as one may take."""

    wait: int


@dataclass(frozen=True, slots=True)
class BackOff:
    """Wait, the longer the more attempts have failed since the last commit; never nothing before another job."""

    wait: int
    failures: int
    another_job: bool


@dataclass(frozen=True, slots=True)
class Notify:
    """Have the listener take an event in."""

    event: EngineEvent


@dataclass(frozen=True, slots=True)
class LogError:
    """Log the failure of the task."""

    reason: str


@dataclass(frozen=True, slots=True)
class LogRestart:
    """Log the reason of a new attempt."""

    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Give up all that the launch has, and notify the listener that it has stopped. The last action."""


AttemptAction: TypeAlias = (
    SubmitJob
    | CancelJob
    | SendStart
    | Serve
    | Dismiss
    | Send
    | KillProcess
    | AskWorker
    | Answer
    | AwaitExit
    | BackOff
    | Notify
    | LogError
    | LogRestart
    | Finish
)
