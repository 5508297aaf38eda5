# SPDX-License-Identifier: Apache-2.0
"""Executors: the choice of one for a task, and the start of Python on them before a task needs it.

Spark by itself takes any executor with a free core. Here tasks of one connector get different ones, and all tasks are
spread evenly. The choice is a preference: Spark uses another executor if it is not available, and a task that has lost
its executor has no preference. A first process of Python takes two seconds on an executor, others a tenth.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.spark.errors.error_texts import text_of

log = logging.getLogger(__name__)
_CHECK_INTERVAL_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Executor:
    """An executor. ``busy``: its cores in use, as last counted by Spark. ``used``: it has ever run something."""

    id: str
    host: str
    cores: int
    busy: int
    used: bool = False

    @property
    def location(self) -> str:
        """The executor's name for Spark's scheduler."""
        return f"executor_{self.host}_{self.id}"


class Placement:
    """The executors chosen for the jobs that run now. Thread-safe."""

    def __init__(self, cores_per_task: int) -> None:
        self._cores_per_task = cores_per_task
        self._lock = threading.Lock()
        self._wanted: dict[str, Executor] = {}

    def place(self, group: str, executors: Sequence[Executor]) -> Executor | None:
        """Choose an executor for the job of ``group``, a task's launch, until ``forget``; None if any will do."""
        with self._lock:
            chosen = choose(group, executors, self._wanted, self._cores_per_task)
            if chosen is not None:
                self._wanted[group] = chosen
            return chosen

    def forget(self, group: str) -> None:
        with self._lock:
            self._wanted.pop(group, None)


def choose(
    group: str, executors: Sequence[Executor], wanted: Mapping[str, Executor], cores_per_task: int
) -> Executor | None:
    """Return the executor with room that has the fewest tasks of the connector, also on its host, and is least used."""
    if len(executors) < 2:
        return None
    siblings = [place for other, place in wanted.items() if _connector(other) == _connector(group)]

    def used(executor: Executor) -> int:
        return max(executor.busy, cores_per_task * sum(place.id == executor.id for place in wanted.values()))

    def crowding(executor: Executor) -> tuple[int, int, int]:
        here = sum(place.id == executor.id for place in siblings)
        beside = sum(place.host == executor.host for place in siblings)
        return here, beside, used(executor)

    roomy = [executor for executor in executors if used(executor) + cores_per_task <= executor.cores]
    return min(roomy, key=crowding, default=None)


def _connector(group: str) -> str:
    """Return the connector of a group, which is named ``connector-task-launch``."""
    return group.rsplit("-", 2)[0]


class WarmUp:
    """A thread that runs an empty job on each executor that has not run anything."""

    def __init__(self, executors: Callable[[], Sequence[Executor]], run: Callable[[Executor], None]) -> None:
        """``run`` runs an empty job on an executor, to its end."""
        self._executors = executors
        self._run = run
        self._stopping = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._keep_warm, name="spark-warm-up", daemon=True).start()

    def stop(self) -> None:
        """End the thread; does not block."""
        self._stopping.set()

    def check_executors(self) -> None:
        """Run the job on unused executors; Spark may run it on another while one starts: it is unused next time."""
        for executor in self._executors():
            if not executor.used and not self._stopping.is_set():
                self._run(executor)

    def _keep_warm(self) -> None:
        while not self._stopping.wait(_CHECK_INTERVAL_S):
            try:
                self.check_executors()
            except Exception as error:  # Spark ends, or an executor did
                log.debug("warming up executors: %s", text_of(error))
