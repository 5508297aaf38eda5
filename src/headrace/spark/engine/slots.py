# SPDX-License-Identifier: Apache-2.0
"""Tasks for which the cluster has no core: who they are, how many are missing, and that it is told."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Protocol

from headrace.model.service_threads import ServiceThread
from headrace.spark.engine.master import is_local

_log = logging.getLogger(__name__)
_LOOK_S: Final = 1.0
_GRACE_S: Final = 3.0
"""How long a task may be without a core before that is told: executors need a moment to start."""
_RETELL_S: Final = 10.0
"""How often a task's reason may change: each change is a record in the status topic."""
_LOST_S: Final = 6.0
"""How long there may be no executor at all before the cluster is asked whether it still knows this worker."""


@dataclass(frozen=True, slots=True)
class Cores:
    """What a worker has of its cluster: cores of its executors, and how many of them run something."""

    executors: int
    total: int
    busy: int


class WaitingTask(Protocol):
    """A launched task, as far as it may have to wait."""

    @property
    def key(self) -> str: ...

    @property
    def without_process(self) -> bool:
        """Its Spark job is submitted, and no process of it has attached."""

    def waits(self, reason: str) -> None:
        """It has no process because it has no core."""


class Engine(Protocol):
    """What the engine knows of its cluster. All of it blocks for a moment, and works whatever state Spark is in."""

    @property
    def master(self) -> str: ...

    @property
    def cores_per_task(self) -> int: ...

    def unscheduled(self, group: str) -> bool:
        """Whether a job of the group is there of which nothing runs."""

    def cores(self) -> Cores | None:
        """None while Spark is not running."""

    def renew_if_forgotten(self) -> None:
        """Begin anew with the cluster if that does not know this worker any more."""


def shortage(waiting: int, per_task: int, cores: Cores, master: str) -> str:
    """``3 tasks wait for 3 more cores: …``."""
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
    """What whoever has too few cores can do."""
    if is_local(master):
        return "give spark.master=local[N] a larger N, which may be more than the machine has, or have fewer tasks"
    return "add machines, let Spark have more of them (spark.cores.max, spark.executor.instances), or have fewer tasks"


class SlotWatch:
    """A thread of its own that looks once a second. It asks Spark only about tasks that have no process."""

    def __init__(
        self, tasks: Callable[[], Collection[WaitingTask]], engine: Engine, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tasks = tasks
        self._engine = engine
        self._clock = clock
        self._since: dict[str, float] = {}
        self._told: dict[str, tuple[float, str]] = {}
        self._alone_since: float | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        ServiceThread("spark-slots", self._run, "tasks that wait for cores are not told why").start()

    def stop(self) -> None:
        self._stopping.set()

    def look(self) -> None:
        """Once, and tell those concerned."""
        waiting = self._waiting()
        self._told = {task.key: self._told[task.key] for task in waiting if task.key in self._told}
        cores = self._engine.cores() if waiting else None
        if cores is None:
            self._alone_since = None
            return
        reason = shortage(len(waiting), self._engine.cores_per_task, cores, self._engine.master)
        for task in waiting:
            self._tell(task, reason)
        self._watch_cluster(cores)

    def _waiting(self) -> list[WaitingTask]:
        now = self._clock()
        candidates = [task for task in self._tasks() if task.without_process]
        tasks = [task for task in candidates if self._engine.unscheduled(task.key)]
        self._since = {task.key: self._since.get(task.key, now) for task in tasks}
        return [task for task in tasks if now - self._since[task.key] >= _GRACE_S]

    def _tell(self, task: WaitingTask, reason: str) -> None:
        now = self._clock()
        when, told = self._told.get(task.key, (-_RETELL_S, ""))
        if told == reason or (told and now - when < _RETELL_S):
            return
        self._told[task.key] = now, reason
        task.waits(reason)

    def _watch_cluster(self, cores: Cores) -> None:
        now = self._clock()
        if cores.executors:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        elif now - self._alone_since >= _LOST_S:
            self._alone_since = now
            self._engine.renew_if_forgotten()

    def _run(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            try:
                self.look()
            except Exception:
                _log.exception("it could not be found out which tasks wait for cores")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
