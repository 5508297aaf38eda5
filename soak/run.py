# SPDX-License-Identifier: Apache-2.0
"""One long run: faults from a plan, operators, and samples all the while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faults.cluster import Cluster
from faults.plan import Plan, plan, stretched
from faults.run import Pace, Result, Run, Say
from soak.growth import Growth, growths
from soak.measure import MEASURABLE
from soak.operators import Operators
from soak.watch import SPARED, Watch

_SCRAPE_S: Final = 15.0
_SAMPLE_S: Final = 30.0
_REPORT_S: Final = 60.0
_SAMPLES: Final = 40
_STRETCH: Final = 4.0
_SHOWN: Final = ("worker_rss", "worker_threads", "worker_fds", "jvm_heap", "jvm_rss", "tree_pss", "processes")
_PACE: Final = Pace(pause_ms=500, progress_s=60.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """All is right if the records are, nothing grows, and operators got what they asked for."""

    result: Result
    growths: tuple[Growth, ...]
    problems: tuple[str, ...]

    @property
    def right(self) -> bool:
        return self.result.right and not self.problems and all(growth.right for growth in self.growths)


class Soak:
    """On one running cluster, whose connectors it makes. Its parts show what has happened so far."""

    def __init__(self, cluster: Cluster, tasks: int, seed: int, directory: Path, say: Say) -> None:
        self._cluster = cluster
        self._tasks = tasks
        self._seed = seed
        self._say = say
        self._faults = 0
        files = directory / "files"
        files.mkdir()
        self.operators = Operators(cluster, files, seed)
        self.watch = Watch(cluster, temporary(directory, len(cluster.workers)), self._events)

    def run(self, seconds: float) -> Outcome:
        """At the end nothing of it is at work any more."""
        run = Run(self._cluster, self._tasks, self._heard, pace=_PACE, spared=SPARED)
        result = run.run(self.plan(seconds), 0, self._beside(seconds))
        problems = (*self.operators.problems, *self.watch.problems())
        return Outcome(result, tuple(growths(self.watch.samples, MEASURABLE)), problems)

    def plan(self, seconds: float) -> Plan:
        """Return faults that leave the cluster some time in which nothing happens to it."""
        return stretched(plan(self._seed, seconds / _STRETCH), _STRETCH)

    @contextmanager
    def _beside(self, seconds: float) -> Iterator[None]:
        over = threading.Event()
        with ThreadPoolExecutor(4) as pool:
            running = [
                pool.submit(self.operators.run, over),
                pool.submit(_every, over, _SCRAPE_S, self.watch.scrape),
                pool.submit(_every, over, min(_SAMPLE_S, seconds / _SAMPLES), self.watch.sample),
                pool.submit(_every, over, _REPORT_S, self._report),
            ]
            try:
                yield
            finally:
                over.set()
        for one in running:
            one.result()

    def _events(self) -> int:
        return self._faults + self.operators.done.total()

    def _heard(self, line: str) -> None:
        self._faults += " (" in line
        self._say(line)

    def _report(self) -> None:
        samples = self.watch.samples
        now = {name: f"{value:,.0f}" for name, value in samples[-1].values.items()} if samples else {}
        self._say(
            f"{time.strftime('%H:%M:%S')}  {self._faults} faults, {self.operators.done.total()} operations, "
            f"{len(self.operators.problems)} problems, {len(samples)} samples ({self.watch.missed.total()} missed); "
            + ", ".join(f"{name} {now.get(name, '-')}" for name in _SHOWN)
        )


def temporary(directory: Path, workers: int) -> list[Path]:
    """Return the workers' directories for temporary files. Their paths are short: of sockets' paths 108 bytes count."""
    return [directory / f"t{number}" for number in range(workers)]


def _every(over: threading.Event, seconds: float, act: Callable[[], None]) -> None:
    while not over.wait(seconds):
        act()
