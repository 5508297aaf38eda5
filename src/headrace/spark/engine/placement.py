# SPDX-License-Identifier: Apache-2.0
"""On which executor a task is wanted: tasks of one connector apart, all tasks evenly.

Spark by itself takes any executor with a free core. A wish is all this is: Spark goes elsewhere where it cannot be had,
and a task that has lost its executor is not wanted anywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Executor:
    """``busy``: cores of it that run something, when Spark last counted them. ``used``: it has ever run something."""

    id: str
    host: str
    cores: int
    busy: int
    used: bool = False

    @property
    def location(self) -> str:
        """As Spark's scheduler names it."""
        return f"executor_{self.host}_{self.id}"


class Placement:
    """Where the jobs that run now were wanted. Thread-safe."""

    def __init__(self, cores_per_task: int) -> None:
        self._cores_per_task = cores_per_task
        self._lock = threading.Lock()
        self._wanted: dict[str, Executor] = {}

    def place(self, group: str, executors: Sequence[Executor]) -> Executor | None:
        """Where the job of ``group``, a launch of a task, is wanted until ``forget``; None where it does not matter."""
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
    """Of those with room the one with the fewest tasks of the connector, on it and on its host, and least used."""
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
    """Groups are named ``connector-task-launch``."""
    return group.rsplit("-", 2)[0]
