# SPDX-License-Identifier: Apache-2.0
"""Startup counts and time per state of the worker's connectors and tasks."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headrace.metrics.figures import RunFigures, Startups
from headrace.model.deadline import Clock
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import State
from headrace.worker.callbacks import Runnable, StatusListener

_UP: Final = (State.RUNNING, State.PAUSED, State.STOPPED)


@dataclass(slots=True)
class _Run:
    began: float
    state: State = State.UNASSIGNED
    since: float = 0.0
    running: float = 0.0
    paused: float = 0.0
    starting: bool = True

    def spent(self, now: float) -> tuple[float, float]:
        """Return the seconds running and paused until now."""
        lately = now - self.since
        running = self.running + (lately if self.state is State.RUNNING else 0.0)
        return running, self.paused + (lately if self.state is State.PAUSED else 0.0)


class RunRecorder:
    """A ``StatusListener`` that counts and passes everything on to another one. Thread-safe."""

    def __init__(self, listener: StatusListener, clock: Clock = time.monotonic) -> None:
        self._listener = listener
        self._clock = clock
        self._lock = threading.Lock()
        self._runs: dict[Runnable, _Run] = {}
        self._startups = {str: Startups(), ConnectorTaskId: Startups()}

    def record_start(self, id: Runnable) -> None:
        """Record that it is to be started here; its first status decides the outcome of the startup."""
        with self._lock:
            now = self._clock()
            self._runs[id] = _Run(now, since=now)
            self._count(id, attempts=1)

    def figures(self, id: Runnable) -> RunFigures:
        """Return the figures of a connector or task; those of an unassigned one if it is not here."""
        with self._lock:
            run, now = self._runs.get(id), self._clock()
            if run is None:
                return RunFigures(State.UNASSIGNED.value.lower(), 0.0, 0.0)
            running, paused = run.spent(now)
            whole = max(now - run.began, 1e-9)
            return RunFigures(run.state.value.lower(), running / whole, paused / whole)

    def startups(self, kind: type[str] | type[ConnectorTaskId]) -> Startups:
        with self._lock:
            return self._startups[kind]

    # ---- StatusListener

    def on_startup(self, id: Runnable) -> None:
        self._record_state(id, State.RUNNING)
        self._listener.on_startup(id)

    def on_running(self, id: Runnable) -> None:
        self._record_state(id, State.RUNNING)
        self._listener.on_running(id)

    def on_pause(self, id: Runnable) -> None:
        self._record_state(id, State.PAUSED)
        self._listener.on_pause(id)

    def on_stop(self, id: Runnable) -> None:
        self._record_state(id, State.STOPPED)
        self._listener.on_stop(id)

    def on_failure(self, id: Runnable, trace: str) -> None:
        self._record_state(id, State.FAILED)
        self._listener.on_failure(id, trace)

    def on_restart(self, id: Runnable, reason: str) -> None:
        self._record_state(id, State.RESTARTING)
        self._listener.on_restart(id, reason)

    def on_shutdown(self, id: Runnable) -> None:
        with self._lock:
            self._runs.pop(id, None)
        self._listener.on_shutdown(id)

    def on_topics(self, id: ConnectorTaskId, topics: Sequence[str]) -> None:
        self._listener.on_topics(id, topics)

    def _record_state(self, id: Runnable, state: State) -> None:
        with self._lock:
            run, now = self._runs.get(id), self._clock()
            if run is None:
                return
            run.running, run.paused = run.spent(now)
            run.state, run.since = state, now
            if run.starting and state in _UP:
                self._count(id, successes=1)
            elif run.starting and state is State.FAILED:
                self._count(id, failures=1)
            run.starting = run.starting and state is State.RESTARTING

    def _count(self, id: Runnable, attempts: int = 0, successes: int = 0, failures: int = 0) -> None:
        kind = ConnectorTaskId if isinstance(id, ConnectorTaskId) else str
        counted = self._startups[kind]
        self._startups[kind] = Startups(
            counted.attempts + attempts, counted.successes + successes, counted.failures + failures
        )
