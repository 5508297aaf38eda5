# SPDX-License-Identifier: Apache-2.0
"""A watch for tasks for which the cluster has no core, which reports them with the number of missing cores."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Protocol

from headrace.model.service_threads import ServiceThread
from headrace.spark.engine.master import is_local

log = logging.getLogger(__name__)
_CHECK_INTERVAL_S: Final = 1.0
_GRACE_S: Final = 3.0
"""Seconds that a task may be without a core before that is reported: executors need a moment to start."""
_REPORT_INTERVAL_S: Final = 10.0
"""Seconds between two changes of a task's reason: each change is a record in the status topic."""
_NO_EXECUTOR_TIMEOUT_S: Final = 6.0
"""Seconds without any executor after which the engine checks that the cluster still knows this worker."""


@dataclass(frozen=True, slots=True)
class Cores:
    """A worker's share of its cluster: its executors, their cores, and the cores in use."""

    executors: int
    total: int
    busy: int


class WaitingTask(Protocol):
    """A launched task that may have to wait for a core."""

    @property
    def key(self) -> str: ...

    @property
    def without_process(self) -> bool:
        """True if its Spark job is submitted, and no process of it has attached."""

    def report_waiting(self, reason: str) -> None:
        """Report that it has no process because it has no core."""


class Engine(Protocol):
    """The engine's view of its cluster. All methods block for a moment, and work in any state of Spark."""

    @property
    def master(self) -> str: ...

    @property
    def cores_per_task(self) -> int: ...

    def unscheduled(self, group: str) -> bool:
        """Return True if a job of the group is there of which nothing runs."""

    def cores(self) -> Cores | None:
        """Return the cores of its executors; None while Spark is not running."""

    def restart_if_forgotten(self) -> None:
        """Start Spark again if the cluster does not know this worker any more."""


def shortage(waiting: int, per_task: int, cores: Cores, master: str) -> str:
    """Return the message, as in ``3 tasks wait for 3 more cores: …``."""
    missing = max(1, waiting * per_task - max(0, cores.total - cores.busy))
    who = f"{_count(waiting, 'task')} {'waits' if waiting == 1 else 'wait'}"
    if cores.executors:
        has = f"{_count(cores.total, 'core')} on {_count(cores.executors, 'executor')}, {cores.busy} of them in use"
    else:
        has = "no executor"
    return (
        f"{who} for {_count(missing, 'more core')}: spark.master={master} gives this worker {has}. Each task needs "
        f"{_count(per_task, 'core')} as long as it runs: {remedy(master)}"
    )


def remedy(master: str) -> str:
    """Return the advice for too few cores."""
    if is_local(master):
        return "give spark.master=local[N] a larger N, which may be more than the machine has, or have fewer tasks"
    return "add machines, let Spark have more of them (spark.cores.max, spark.executor.instances), or have fewer tasks"


class SlotWatch:
    """A thread that checks once a second, with requests to Spark only for tasks that have no process."""

    def __init__(
        self, tasks: Callable[[], Collection[WaitingTask]], engine: Engine, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tasks = tasks
        self._engine = engine
        self._clock = clock
        self._since: dict[str, float] = {}
        self._reported: dict[str, tuple[float, str]] = {}
        self._no_executor_since: float | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        ServiceThread("spark-slots", self._run, "tasks that wait for cores are not shown the reason").start()

    def stop(self) -> None:
        self._stopping.set()

    def check_tasks(self) -> None:
        """Check all tasks once, and report those that wait."""
        waiting = self._waiting()
        self._reported = {task.key: self._reported[task.key] for task in waiting if task.key in self._reported}
        cores = self._engine.cores() if waiting else None
        if cores is None or self._are_enough(cores, len(waiting)):
            self._no_executor_since = None
            return
        reason = shortage(len(waiting), self._engine.cores_per_task, cores, self._engine.master)
        for task in waiting:
            self._report(task, reason)
        self._watch_cluster(cores)

    def _are_enough(self, cores: Cores, waiting: int) -> bool:
        """Return True if the tasks wait for something else, such as a machine that is slow to start a process.

        A cluster's cores may be on executors that have too few each.
        """
        return is_local(self._engine.master) and cores.total - cores.busy >= waiting * self._engine.cores_per_task

    def _waiting(self) -> list[WaitingTask]:
        now = self._clock()
        candidates = [task for task in self._tasks() if task.without_process]
        tasks = [task for task in candidates if self._engine.unscheduled(task.key)]
        self._since = {task.key: self._since.get(task.key, now) for task in tasks}
        return [task for task in tasks if now - self._since[task.key] >= _GRACE_S]

    def _report(self, task: WaitingTask, reason: str) -> None:
        now = self._clock()
        when, reported = self._reported.get(task.key, (-_REPORT_INTERVAL_S, ""))
        if reported == reason or (reported and now - when < _REPORT_INTERVAL_S):
            return
        self._reported[task.key] = now, reason
        task.report_waiting(reason)

    def _watch_cluster(self, cores: Cores) -> None:
        now = self._clock()
        if cores.executors:
            self._no_executor_since = None
        elif self._no_executor_since is None:
            self._no_executor_since = now
        elif now - self._no_executor_since >= _NO_EXECUTOR_TIMEOUT_S:
            self._no_executor_since = now
            self._engine.restart_if_forgotten()

    def _run(self) -> None:
        while not self._stopping.wait(_CHECK_INTERVAL_S):
            try:
                self.check_tasks()
            except Exception:
                log.exception("it could not be found out which tasks wait for cores")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
