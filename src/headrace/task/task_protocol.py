# SPDX-License-Identifier: Apache-2.0
"""The messages between a task's process and its worker, whatever carries them.

Events and requests go up to the worker, commands and answers down to the process. All are pickled between processes of
one version of headrace. What only the engine knows, as a task's frame jobs, is defined by the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from headrace.api.datasets import Fields
from headrace.model.health import Progress, TaskError
from headrace.model.step_counts import StepCounts

Partition: TypeAlias = Mapping[str, Any]
Offset: TypeAlias = Mapping[str, Any]
A = TypeVar("A")


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
    """Up, last: an attempt's outcome with its reason, or its trace if it FAILED; ``error`` is that which ended it."""

    outcome: Outcome
    reason: str = ""
    error: TaskError | None = field(default=None, repr=False, compare=False)


class Command(Enum):
    """Down: the worker's commands to a process."""

    PAUSE = "PAUSE"
    RESUME = "RESUME"
    STOP = "STOP"
    """Finish the batch, commit, and call the task's ``stop()``; or, in place of its task, just end."""
    FORGET_TOPICS = "FORGET_TOPICS"
    """Report the topics in use again: the worker's record of them was reset."""
    MEASURE = "MEASURE"
    """Send ``Measured``; answered also while the task's thread is blocked."""


# ---- up: requests of a process, and their answers


class Request(Generic[A]):
    """A request whose answer is an ``A``. Some threads of a process may have requests under way at once."""

    __slots__ = ()
    unanswered: ClassVar[str] = ""
    """The beginning of the error's message if the worker could not find the answer out."""


@dataclass(frozen=True, slots=True)
class ConfirmStart(Request[bool]):
    """May the attempt poll? Once, after its ``init_transactions`` (invariant 4).

    The answer is True (GO), or False (ABANDON) if the task was taken away. The worker reads the config topic to the end
    (invariants 4 and 6). Refused for good if the task can never start as it is configured.
    """

    unanswered: ClassVar[str] = "the worker could not find out whether the task may start: "


@dataclass(frozen=True, slots=True)
class ReadOffsets(Request[Sequence[Offset | None]]):
    """Read source offsets, after a read to the end of the offsets topics (invariant 3).

    The answer has one offset for each partition. Refused for good if they can never be read as the task is configured.
    """

    partitions: Sequence[Partition]
    unanswered: ClassVar[str] = "source offsets could not be read: "


@dataclass(frozen=True, slots=True)
class WriteOffsets(Request[None]):
    """Write source offsets for a task whose worker has no offsets topic; refused if they are not there, or may not be.

    Keys and values are those of ``offset_codec``.
    """

    records: Mapping[bytes, bytes | None]


AnyRequest: TypeAlias = ConfirmStart | ReadOffsets | WriteOffsets


@dataclass(frozen=True, slots=True)
class Asked:
    """Up: a request, by a number that no other of the process has."""

    number: int
    request: AnyRequest


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why there is no answer; ``for_good``: until a user changes something."""

    reason: str
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """Down: the answer to the request of this number, or the refusal to answer it."""

    number: int
    answer: Any = None
    refusal: Refusal | None = None


# ---- up: events of a process


@dataclass(frozen=True, slots=True)
class Running:
    """The task's ``start`` returned and it polls; also after a resume."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The task stopped polling on a request to pause."""


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """Source offsets that have just become visible, as (partition, offset)."""

    offsets: Sequence[tuple[Partition, Offset | None]]


@dataclass(frozen=True, slots=True)
class TopicsUsed:
    """Topics that were just read or written (KIP-558). The link sends each once, until the worker forgets them."""

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class Metrics:
    """The attempt's figures, about once a second while they change."""

    values: Mapping[str, float]
    progress: Progress | None = None
    steps: Sequence[StepCounts] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """The attempt's progress, on a request of the worker and at the attempt's end."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class ErrorMet:
    """The newest error that the attempt met and survived, not more often than once a second while it continues.

    One that ends the attempt is part of ``Ended``.
    """

    error: TaskError


@dataclass(frozen=True, slots=True)
class SchemasSeen:
    """All schemas of values that the attempt has written or read so far, by topic; only with lineage enabled."""

    schemas: Mapping[str, Fields]


ProcessEvent: TypeAlias = Running | Paused | OffsetsCommitted | TopicsUsed | Metrics | Measured | ErrorMet | SchemasSeen


# ---- within the worker: events of the engine that runs a task's attempts


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A process has attached and was sent its task. ``attempt`` counts a launch's processes from 0."""

    attempt: int
    pid: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The task's own code or data failed; it stays down until it is restarted. ``error`` is the attempt's, if any."""

    trace: str
    error: TaskError | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Restarting:
    """An attempt died without failing; another one follows.

    ``outcome`` is the attempt's own report, TAINTED or FENCED, and ``error`` the reported error; both are None for one
    that was killed or lost with its executor.
    """

    reason: str
    outcome: Outcome | None = None
    error: TaskError | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The task has no process, since the engine has no room for one or is not there.

    Sent again when the reason changes. It means nothing for a task that has a process, has failed or has stopped.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """No process of the task is left and none will follow. The last event of a launch."""


EngineEvent: TypeAlias = AttemptStarted | Failed | Restarting | Waiting | Stopped
Event: TypeAlias = ProcessEvent | EngineEvent
