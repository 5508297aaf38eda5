# SPDX-License-Identifier: Apache-2.0
"""The processes of a worker that several tasks share (``tasks.per.process``)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from headrace.logs.loggers import Loggers
from headrace.spark.channel.messages import Attach
from headrace.spark.channel.task_channel import AttemptChannel
from headrace.spark.engine.jvm import RunningJob
from headrace.spark.engine.slots import WaitingTask
from headrace.spark.engine.spark_engine import SparkEngine
from headrace.spark.task.shared_process import SharedProcess

GivenUp = Callable[[], bool]
OnUnavailable = Callable[[str], None]


class TaskJobs(Protocol):
    """The jobs of launches: those of ``SparkEngine``, or places in a shared process."""

    def run_task_job(self, group: str, description: str, given_up: GivenUp, on_unavailable: OnUnavailable) -> None:
        """See ``SparkEngine.run_task_job``."""

    def cancel(self, group: str) -> None:
        """End a launch's job at once; does not block."""

    def running(self, group: str) -> RunningJob | None:
        """Return the newest job of a launch, and its executor; None while there is none."""


class SharedProcesses:
    """All that a worker has, with the launches in each. Thread-safe."""

    def __init__(self, loggers: Loggers, report_waiting: Callable[[str, str], None]) -> None:
        """``report_waiting`` takes a launch and the reason why its process has no core."""
        self._loggers = loggers
        self._report_waiting = report_waiting
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._processes: dict[str, SharedProcess] = {}
        self._of_launch: dict[str, SharedProcess] = {}

    def jobs(self, engine: SparkEngine, limit: int) -> TaskJobs:
        """Return the jobs of a launch on an engine that shares its process with ``limit`` - 1 others."""
        return _SharedJobs(self, engine, limit)

    def run(self, jobs: _SharedJobs, launch: str, given_up: GivenUp, on_unavailable: OnUnavailable) -> None:
        """Run a launch's attempt in a process of its engine and limit, a new one if all are full; see ``TaskJobs``."""
        with self._lock:
            process = self._of_launch[launch] = self._joined(jobs, launch, on_unavailable)
        try:
            process.await_end(launch, given_up)
        finally:
            with self._lock:
                del self._of_launch[launch]
                if process.closed:
                    self._processes.pop(process.key, None)

    def find(self, launch: str) -> SharedProcess | None:
        """Return the process of a launch."""
        with self._lock:
            return self._of_launch.get(launch)

    def serving(self, launch: str) -> AbstractContextManager[None]:
        """Have the attempt of a launch not be over while its channel is served within the block."""
        process = self.find(launch)
        return nullcontext() if process is None else process.serving(launch)

    def serve(self, channel: AttemptChannel, attach: Attach) -> None:
        """Serve a process that has attached by a key of these, until it closes the channel."""
        process = self._processes.get(attach.key)
        if process is not None:
            process.serve(channel, attach)

    def cancel(self, launch: str) -> None:
        process = self.find(launch)
        if process is not None:
            process.cancel(launch)

    def running(self, launch: str) -> RunningJob | None:
        process = self.find(launch)
        return None if process is None else process.engine.running(process.key)

    def waiting(self, engine: SparkEngine) -> list[WaitingTask]:
        """Return those of an engine without a process, each of which waits for a core."""
        waiting = [each for each in self._all() if each.without_process and each.engine is engine]
        return [_Waiting(each, self._report_waiting) for each in waiting]

    def send_log_levels(self) -> None:
        """Send the worker's log levels, which have changed, to all processes."""
        for each in self._all():
            each.send_log_levels()

    def _all(self) -> list[SharedProcess]:
        with self._lock:
            return list(self._processes.values())

    def _joined(self, jobs: _SharedJobs, launch: str, on_unavailable: OnUnavailable) -> SharedProcess:
        for process in self._processes.values():
            alike = process.engine is jobs.engine and process.limit == jobs.limit
            if alike and process.join(launch, on_unavailable):
                return process
        process = SharedProcess(f"shared-{next(self._numbers)}", jobs.limit, jobs.engine, self._loggers)
        process.join(launch, on_unavailable)
        self._processes[process.key] = process
        process.start()
        return process


class _SharedJobs:
    """``TaskJobs`` in processes of one engine and limit."""

    def __init__(self, processes: SharedProcesses, engine: SparkEngine, limit: int) -> None:
        self._processes = processes
        self.engine = engine
        self.limit = limit

    def run_task_job(self, group: str, description: str, given_up: GivenUp, on_unavailable: OnUnavailable) -> None:
        self._processes.run(self, group, given_up, on_unavailable)

    def cancel(self, group: str) -> None:
        self._processes.cancel(group)

    def running(self, group: str) -> RunningJob | None:
        return self._processes.running(group)


class _Waiting:
    """``WaitingTask`` for a shared process: its launches wait for one core together."""

    def __init__(self, process: SharedProcess, report: Callable[[str, str], None]) -> None:
        self.key = process.key
        self._process = process
        self._report = report

    @property
    def without_process(self) -> bool:
        return self._process.without_process

    def report_waiting(self, reason: str) -> None:
        for launch in self._process.launches():
            self._report(launch, reason)
