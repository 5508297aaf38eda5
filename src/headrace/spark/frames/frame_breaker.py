# SPDX-License-Identifier: Apache-2.0
"""A circuit breaker for connectors whose frame jobs end Spark's engine too often.

A query can take more memory than there is. In local mode that ends the JVM which all tasks of the worker share; on a
cluster it ends executors, with everything else that runs there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import RetriableError
from headrace.model.backoff import ExponentialBackoff

log = logging.getLogger(__name__)
_TURN_TIMEOUT_S: Final = 300.0
"""Seconds that a frame job under watch waits for its turn: to find the culprit is not worth more."""
_CHECK_INTERVAL_S: Final = 0.2
_BACKOFF: Final = ExponentialBackoff(2.0, 60.0)


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    """``deaths`` of the engine within ``window`` seconds after which a connector's jobs are refused."""

    deaths: int = 3
    window: float = 600.0


@dataclass(frozen=True, slots=True)
class _Death:
    at: float
    watched: frozenset[str]
    """Connectors that were under watch before."""
    present: frozenset[str]
    """Connectors of which frame jobs ran."""


class Deaths:
    """The deaths of an engine, and the connectors that they are attributed to. Pure except for its clock.

    A connector with a frame job running at a death is under watch as long as that counts, and ``FrameBreaker`` runs the
    jobs of those under watch one at a time. So a death is attributed to the only connector that was present, or else to
    the one that was under watch already. A first death with several is attributed to none: the innocent must not stop.
    """

    def __init__(self, limits: BreakerLimits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._deaths: dict[Hashable, _Death] = {}
        self._cleared: dict[str, float] = {}

    def died(self, engine: Hashable, present: Collection[str]) -> bool:
        """Note a death; return True if it is new.

        Only the first call for an engine counts: later ones are of jobs whose turn came when it was dead already.
        """
        now = self._clock()
        self._deaths = {key: death for key, death in self._deaths.items() if now - death.at < self._limits.window}
        if engine in self._deaths:
            return False
        self._deaths[engine] = _Death(now, self._watched(), frozenset(present))
        return True

    def count(self, connector: str) -> int:
        """Return the number of deaths attributed to the connector."""
        return sum({connector} == _suspects(death) for death in self._counting(connector))

    def watched(self, connector: str) -> bool:
        """Return True if the connector is under watch."""
        return any(connector in death.present for death in self._counting(connector))

    def clear(self, connector: str) -> None:
        """Ignore all deaths so far for this connector."""
        self._cleared[connector] = self._clock()

    def _watched(self) -> frozenset[str]:
        return frozenset(name for death in self._deaths.values() for name in death.present if self.watched(name))

    def _counting(self, connector: str) -> list[_Death]:
        since = max(self._clock() - self._limits.window, self._cleared.get(connector, float("-inf")))
        return [death for death in self._deaths.values() if death.at > since]


def _suspects(death: _Death) -> frozenset[str]:
    return death.present if len(death.present) == 1 else death.present & death.watched


class FrameBreaker:
    """The breaker of one engine, and of those that replace it. Thread-safe."""

    def __init__(
        self,
        limits: BreakerLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
        turn: float = _TURN_TIMEOUT_S,
    ) -> None:
        """``turn`` is the longest time in seconds that a job waits for others."""
        self._limits = limits or BreakerLimits()
        self._deaths = Deaths(self._limits, clock)
        self._turn = turn
        self._changed = threading.Condition()
        self._running: list[tuple[str, Hashable]] = []
        self._waiting: list[tuple[str, object]] = []
        self._open: set[str] = set()

    @contextmanager
    def running(self, connector: str, engine: Hashable, given_up: Callable[[], bool] = bool) -> Iterator[None]:
        """Note a frame job within the block; first wait while another connector's runs, if both are under watch.

        RetriableError if it is ``given_up`` before it begins.
        """
        end, turn, job = time.monotonic() + self._turn, (connector, object()), (connector, engine)
        with self._changed:
            self._waiting.append(turn)
            while not (self._may_begin(turn) or given_up() or time.monotonic() > end):
                self._changed.wait(_CHECK_INTERVAL_S)
            self._waiting.remove(turn)
            if given_up():
                # It has not run: counted as present at a death, it would hide the only one that was.
                raise RetriableError("the task does not wait for it any more")
            self._running.append(job)
        try:
            yield
        finally:
            with self._changed:
                self._running.remove(job)
                self._changed.notify_all()

    def engine_died(self, connector: str, engine: Hashable) -> None:
        """Note the engine's death, which a frame job on it has found."""
        with self._changed:
            present = {connector, *(name for name, on in self._running if on == engine)}
            new = self._deaths.died(engine, present)
        if new:
            log.warning("Spark's engine died while it ran frame jobs of %s", ", ".join(sorted(present)))

    def lost_executors(self, connector: str) -> None:
        """Note that Spark gave a frame job up because each executor that tried it was lost."""
        with self._changed:
            self._deaths.died(object(), {connector})

    def refusal(self, connector: str) -> str | None:
        """Return the reason why the connector's tasks may not run any more; None if they may."""
        with self._changed:
            if self._deaths.count(connector) >= self._limits.deaths:
                self._open.add(connector)
            if connector not in self._open:
                return None
        return (
            f"Spark's engine died {self._limits.deaths} times within {self._limits.window:.0f} s while it ran frame "
            f"jobs of connector {connector}, and all tasks on that engine with it. Those of the connector do not run "
            f"again by themselves: give the engine more memory (spark.driver.memory) or the query less to do, then "
            f"restart them; with spark.task.isolation=connector no other connector shares its engine"
        )

    def backoff(self, connector: str) -> float:
        """Return the seconds to wait before a new attempt of a task that was lost."""
        with self._changed:
            return _BACKOFF.after(self._deaths.count(connector))

    def launched(self, connector: str) -> None:
        """Clear a refused connector's account: a user has started it again."""
        with self._changed:
            if connector in self._open:
                self._open.remove(connector)
                self._deaths.clear(connector)

    def _may_begin(self, turn: tuple[str, object]) -> bool:
        connector, running = turn[0], {name for name, _ in self._running}
        # A job that runs may request a second one, for which all others would wait while it waits.
        if connector in running or not self._deaths.watched(connector):
            return True
        before = {name for name, _ in self._waiting[: self._waiting.index(turn)]}
        return not any(name != connector and self._deaths.watched(name) for name in running | before)
