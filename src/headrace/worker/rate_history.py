# SPDX-License-Identifier: Apache-2.0
"""The throughput and lag of the connectors of a worker over the last hour, for plots that begin before their page.

Every 15 seconds the figures that tasks report anyway are added up: no task is asked for it.
"""

from __future__ import annotations

import math
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from headrace.metrics.client_metrics import FETCHES
from headrace.metrics.connect_metric import untagged
from headrace.model.ids import ConnectorTaskId
from headrace.model.service_threads import ServiceThread

PERIOD_S: Final = 15
POINTS: Final = 3600 // PERIOD_S
_RATES: Final = ("source-record-write-rate", "sink-record-send-rate")
_LAG: Final = (FETCHES, "records-lag")
_LOSS: Final = "the history of rates has no new points"

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Figures by time, the oldest first, at steps of ``PERIOD_S``; the last is of the step that ends at ``until``."""

    until: int
    """Seconds since the epoch, a multiple of ``PERIOD_S``."""
    records_per_second: Values
    """Records written to Kafka, or put into the sink; None where nothing ran."""
    lag: Values
    """Records that sinks were behind; None where there was no sink."""

    def to_json(self) -> dict[str, Any]:
        """Return the history as JSON, which ``history_of`` reads."""
        return asdict(self)


def history_of(answer: Mapping[str, Any]) -> History:
    """Return the history of an answer's JSON. Raise KeyError, TypeError or ValueError for one that has another form."""
    values = [tuple(map(_number, answer[name])) for name in ("records_per_second", "lag")]
    if any(len(each) != POINTS for each in values):
        raise ValueError(f"a history has {POINTS} points")
    return History(int(answer["until"]), *values)


def added(histories: Iterable[History]) -> History:
    """Return the sum of histories of several workers at the newest time that one of them has; there is at least one.

    A worker's clock or answer may be behind the others': its points are added where they belong.
    """
    all_histories = tuple(histories)
    until = max(history.until for history in all_histories)
    rates, lags = _Points(), _Points()
    for history in all_histories:
        behind = (until - history.until) // PERIOD_S
        rates.add(history.records_per_second[behind:])
        lags.add(history.lag[behind:])
    return History(until, rates.values(), lags.values())


class RateHistory:
    """The rings of all connectors that ran here within the last hour. ``sample`` is called by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest = 0
        """The number of the newest step since the epoch."""
        self._rates: dict[str, _Points] = {}
        self._lags: dict[str, _Points] = {}

    def sample(self, now: float, tasks: Mapping[ConnectorTaskId, Mapping[str, float]]) -> None:
        """Add the figures of all tasks here at ``now``, in seconds since the epoch. A clock set back adds nothing."""
        step = int(now // PERIOD_S)
        if step <= self._newest:
            return
        rates, lags = _of_connectors(tasks, _rate), _of_connectors(tasks, _lag)
        with self._lock:
            passed, self._newest = min(POINTS, step - self._newest), step
            for rings, values in ((self._rates, rates), (self._lags, lags)):
                _append(rings, passed, values)

    def of(self, connector: str | None) -> History:
        """Return the history of a connector, or of all together. Any thread."""
        with self._lock:
            names = self._rates.keys() | self._lags.keys() if connector is None else {connector}
            rates = [ring.values() for name in names if (ring := self._rates.get(name)) is not None]
            lags = [ring.values() for name in names if (ring := self._lags.get(name)) is not None]
            until = self._newest * PERIOD_S
        return History(until, _sum(rates), _sum(lags))


class HistorySampler:
    """Samples the figures of a worker's tasks at each step, on a thread of its own."""

    def __init__(
        self,
        history: RateHistory,
        figures: Callable[[], Mapping[ConnectorTaskId, Mapping[str, float]]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``clock`` returns seconds since the epoch."""
        self._history = history
        self._figures = figures
        self._clock = clock
        self._stopped = threading.Event()
        self._thread = ServiceThread("rate-history", self._run, _LOSS)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, without waiting for it."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(PERIOD_S - self._clock() % PERIOD_S):
            self._history.sample(self._clock(), self._figures())


class _Points:
    """A figure's newest ``POINTS`` values, NaN where there is none."""

    def __init__(self) -> None:
        self._values = array("d", [math.nan]) * POINTS

    def append(self, value: float) -> None:
        self._values.append(value)
        del self._values[0]

    def add(self, values: Values) -> None:
        """Add values at the beginning of the points; nothing is added where there is none."""
        for at, value in enumerate(values):
            if value is not None:
                before = self._values[at]
                self._values[at] = value if math.isnan(before) else before + value

    def is_empty(self) -> bool:
        return all(map(math.isnan, self._values))

    def values(self) -> Values:
        return tuple(None if math.isnan(value) else value for value in self._values)


def _append(rings: dict[str, _Points], steps: int, values: Mapping[str, float]) -> None:
    """Move all rings on; the last step has ``values``, those before it, in which the process was suspended, none."""
    for name in values.keys() - rings.keys():
        rings[name] = _Points()
    for name, ring in list(rings.items()):
        for _ in range(steps - 1):
            ring.append(math.nan)
        ring.append(values.get(name, math.nan))
        if name not in values and ring.is_empty():
            del rings[name]


def _of_connectors(
    tasks: Mapping[ConnectorTaskId, Mapping[str, float]], figure: Callable[[Mapping[str, float]], float | None]
) -> dict[str, float]:
    found: dict[str, float] = {}
    for id, values in tasks.items():
        value = figure(values)
        if value is not None:
            found[id.connector] = found.get(id.connector, 0.0) + value
    return found


def _rate(values: Mapping[str, float]) -> float | None:
    return next((values[name] for name in _RATES if name in values), None)


def _lag(values: Mapping[str, float]) -> float | None:
    lags = [value for name, value in values.items() if (parts := untagged(name)) is not None and parts[:2] == _LAG]
    return sum(lags) if lags else None


def _sum(values: Iterable[Values]) -> Values:
    total = _Points()
    for each in values:
        total.add(each)
    return total.values()


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
