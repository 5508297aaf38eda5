# SPDX-License-Identifier: Apache-2.0
"""Spark's own messages of a task channel, beside those of ``headrace.task.task_protocol``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from headrace.api.frames import FrameJob
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.task.task_spec import TaskSpec


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
class StartShared:
    """Down, once, to a process that several tasks share: run tasks as they are ordered, until STOP.

    ``log_levels`` are the worker's, as ``LogLevels`` has them.
    """

    log_levels: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunTask:
    """Down, to a shared process: attach for the launch ``key`` by a channel of its own, and run its task."""

    key: str


@dataclass(frozen=True, slots=True)
class TaskOver:
    """Up, from a shared process: nothing runs any more for the launch ``key``, and its channel is closed."""

    key: str


@dataclass(frozen=True, slots=True)
class LogLevels:
    """Down: the levels of the process' loggers from now on, as those of the worker's."""

    levels: Mapping[str, int]


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


MARK: Final = "HEADRACE_PROCESS"


@dataclass(frozen=True, slots=True)
class Attach:
    """Up, first: the process ``pid`` on ``machine`` (see ``this_machine``) was started for the launch ``key``.

    ``prints``: descriptors of pipes follow, of that with what the process prints, and where it is known that with the
    status of its exit. ``mark``: the value of the variable ``MARK`` in the environment of programs that it starts.
    """

    key: str
    pid: int
    machine: str
    prints: bool = False
    mark: str = ""


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
