# SPDX-License-Identifier: Apache-2.0
"""Messages of a task channel: commands down to the task's process, events and requests up to the worker."""

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
    """Down: commands without arguments."""

    GO = "GO"
    ABANDON = "ABANDON"
    PAUSE = "PAUSE"
    RESUME = "RESUME"
    STOP = "STOP"
    FORGET_TOPICS = "FORGET_TOPICS"
    """Report the topics in use again: the worker's record of them was reset."""


@dataclass(frozen=True, slots=True)
class Start:
    """Down, once: run the task ``spec``. ``paused`` is its target state now, whatever it was at launch.

    ``log_levels`` are the worker's, as ``LogLevels`` has them; ``results`` limits the results of frame jobs.
    """

    spec: TaskSpec
    paused: bool
    log_levels: Mapping[str, int] = field(default_factory=dict)
    results: ResultLimit = field(default_factory=ResultLimit)


@dataclass(frozen=True, slots=True)
class LogLevels:
    """Down: the levels of the process' loggers from now on, as those of the worker's."""

    levels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Refused:
    """Down, the answer to ConfirmStart if the worker could not find out: a later attempt repeats the request.

    ``for_good``: with this configuration it never may start.
    """

    reason: str
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class OffsetsRead:
    """Down, the answer to ReadOffsets.

    ``error`` replaces the offsets if they could not be read; ``for_good``: until a user changes something.
    """

    offsets: Sequence[Mapping[str, Any] | None]
    error: str | None = None
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class OffsetsWritten:
    """Down, the answer to WriteOffsets; ``error`` if they were not written, or may not have been."""

    error: str | None = None


class FrameFault(Enum):
    """The kind of a frame job's failure, by what is at fault."""

    CONFIG = "config"
    DATA = "data"
    RETRIABLE = "retriable"
    """The fault of Spark, an executor or a remote system: another attempt may succeed."""


@dataclass(frozen=True, slots=True)
class FrameJobEnded:
    """Down, the answer to RunFrameJob.

    ``schema``, serialized, is the result's, None if the function returned no frame. ``attempts`` are the ids of the
    attempts that Spark counts, one for each partition of the result, in order. If the job failed, ``fault`` and
    ``error`` are set instead.
    """

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
    """Up: init_transactions is done. The answer is GO, ABANDON or Refused (invariant 4)."""


@dataclass(frozen=True, slots=True)
class ReadOffsets:
    """Up: read source offsets. The answer is OffsetsRead (invariant 3)."""

    partitions: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WriteOffsets:
    """Up: offset records for a worker that keeps them without a topic. The answer is OffsetsWritten."""

    records: Mapping[bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class Running:
    """Up: the task polls."""


@dataclass(frozen=True, slots=True)
class Paused:
    """Up: the task has stopped polling, as commanded."""


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """Up: source offsets that have become visible."""

    offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]


@dataclass(frozen=True, slots=True)
class TopicsUsed:
    """Up: topics in use that were not reported yet, or since the last FORGET_TOPICS."""

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class Metrics:
    """Up: the attempt's metrics."""

    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunFrameJob:
    """Up: run a frame job. The answer is FrameJobEnded; executors fetch input and deliver results at ``endpoint``.

    ``schema`` is the input's, a serialized Arrow schema; None if there is no input. A ``streamed`` job has no timeout:
    it runs as long as its rows are taken.
    """

    number: int
    job: FrameJob
    endpoint: Endpoint
    schema: bytes | None
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class CancelFrameJob:
    """Up: cancel a frame job, whose result is not needed any more."""

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
    """Up, last: the outcome of the attempt."""

    ended: Ended
