# SPDX-License-Identifier: Apache-2.0
"""What goes over a task channel: commands down to the task's process, events and requests up to the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from headrace.api.frames import FrameJob
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.task.task_spec import TaskSpec
from headrace.task.worker_task import Ended


class Command(Enum):
    """Down, without anything to say beside."""

    GO = "GO"
    ABANDON = "ABANDON"
    PAUSE = "PAUSE"
    RESUME = "RESUME"
    STOP = "STOP"
    FORGET_TOPICS = "FORGET_TOPICS"
    """Tell of the topics in use anew, for the worker was made to forget them."""


@dataclass(frozen=True, slots=True)
class Start:
    """Down, once: run this. ``paused`` is the task's target state now, whatever it was at launch.

    ``log_levels`` are the worker's, as ``LogLevels`` has them; ``results`` is the limit of what frame jobs give.
    """

    spec: TaskSpec
    paused: bool
    log_levels: Mapping[str, int] = field(default_factory=dict)
    results: ResultLimit = field(default_factory=ResultLimit)


@dataclass(frozen=True, slots=True)
class LogLevels:
    """Down: what the process' loggers are to let through from now on, as the worker's do."""

    levels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Refused:
    """Down, the answer to ConfirmStart where the worker could not find out: a later attempt asks again.

    ``for_good``: it never may, as it is configured.
    """

    reason: str
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class OffsetsRead:
    """Down, the answer to ReadOffsets; ``error`` instead of offsets when they could not be read, and ``for_good`` if
    nobody will be able to until a user changes something."""

    offsets: Sequence[Mapping[str, Any] | None]
    error: str | None = None
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class OffsetsWritten:
    """Down, the answer to WriteOffsets; ``error`` if they were not, or perhaps not."""

    error: str | None = None


class FrameFault(Enum):
    """Whose fault it is that a frame job failed."""

    CONFIG = "config"
    DATA = "data"
    RETRIABLE = "retriable"
    """Spark's, an executor's or the other side's: another try may do better."""


@dataclass(frozen=True, slots=True)
class FrameJobEnded:
    """Down, the answer to RunFrameJob. ``schema``, serialized, is the result's; there is none where the function gave
    no frame. ``attempts`` are the ids of those that Spark counts, one for each partition of the result, in order.
    ``error`` instead if the job failed."""

    number: int
    attempts: tuple[int, ...] = ()
    schema: bytes | None = None
    fault: FrameFault | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Attach:
    """Up, first: the process ``pid`` on ``machine`` (see ``this_machine``) was started for the launch ``key``."""

    key: str
    pid: int
    machine: str


@dataclass(frozen=True, slots=True)
class ConfirmStart:
    """Up: init_transactions is done; GO or ABANDON is awaited (invariant 4)."""


@dataclass(frozen=True, slots=True)
class ReadOffsets:
    """Up: OffsetsRead is awaited (invariant 3)."""

    partitions: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WriteOffsets:
    """Up: OffsetsWritten is awaited. Offset records for a worker that keeps them without a topic."""

    records: Mapping[bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class Running:
    """Up: it polls."""


@dataclass(frozen=True, slots=True)
class Paused:
    """Up: it stopped polling as asked."""


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """Up: these have become visible."""

    offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]


@dataclass(frozen=True, slots=True)
class TopicsUsed:
    """Up: topics in use of which the worker was not told yet, or was made to forget."""

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class Metrics:
    """Up: the attempt's figures."""

    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunFrameJob:
    """Up: FrameJobEnded is awaited. Executors fetch the input and bring the result at ``endpoint``.

    ``schema`` is the input's, a serialized Arrow schema; None if there is no input. A ``streamed`` job takes as long as
    what it brings is taken.
    """

    number: int
    job: FrameJob
    endpoint: Endpoint
    schema: bytes | None
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class CancelFrameJob:
    """Up: nobody waits for it any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Log:
    """Up: a log line of the process, to appear in the worker's log."""

    logger: str
    level: int
    message: str
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """Up, last: how the attempt ended."""

    ended: Ended
