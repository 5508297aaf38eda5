# SPDX-License-Identifier: Apache-2.0
"""Takes samples of a cluster's workers while it is in use."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import httpx2

from faults.cluster import Cluster
from soak.growth import Sample
from soak.measure import NotNowError, load_of, measured

SPARED: Final = 0
"""The worker that is never killed, whose samples show what leaks."""
_LOG_STEPS: Final = 10


class Watch:
    """The samples of a run. `missed` counts the moments without one, by their reasons."""

    def __init__(self, cluster: Cluster, temporary: Sequence[Path], events: Callable[[], int]) -> None:
        """``temporary``: each worker's directory for temporary files. ``events`` counts faults and operations."""
        self._cluster = cluster
        self._temporary = temporary
        self._events = events
        self._logs: deque[tuple[int, int]] = deque(maxlen=_LOG_STEPS)
        self._series = 0
        self._began = time.monotonic()
        self._processes = self._spared()
        self.samples: list[Sample] = []
        self.missed: Counter[str] = Counter()

    def sample(self) -> None:
        worker = self._cluster.workers[SPARED]
        try:
            load = load_of(worker)
            values = measured(worker, self._temporary[SPARED])
            if load_of(worker) != load:
                raise NotNowError("its work has just changed")
        except NotNowError as error:
            self.missed[str(error)[:100]] += 1
            return
        values["directories"] = sum(len(list(each.glob("headrace-*"))) for each in self._temporary)
        values["metric_series"] = self._series
        values["log_bytes"] = self._log_bytes()
        values["events"] = self._events()
        self._logs.append((self._events(), self._log_bytes()))
        (events, size), (events_now, size_now) = self._logs[0], self._logs[-1]
        if events_now > events:
            values["worker_log_per_event"] = (size_now - size) / (events_now - events)
        self.samples.append(Sample(time.monotonic() - self._began, load, values))

    def scrape(self) -> None:
        """Get the metrics of all workers, as Prometheus does."""
        for number, worker in enumerate(self._cluster.workers):
            try:
                answer = httpx2.get(f"http://127.0.0.1:{worker.port}/metrics", timeout=10)
            except httpx2.HTTPError:
                continue
            if number == SPARED and answer.status_code == 200:
                self._series = sum(not line.startswith("#") for line in answer.text.splitlines())

    def problems(self) -> list[str]:
        return [] if self._spared() == self._processes else ["the worker that was spared, or its JVM, ended"]

    def _spared(self) -> tuple[int | None, int, int]:
        worker = self._cluster.workers[SPARED]
        ended = worker.launched.poll()
        return ended, worker.pid, worker.jvm().pid if ended is None else 0

    def _log_bytes(self) -> int:
        return (self._cluster.workers[SPARED].properties_file.parent / "worker.log").stat().st_size
