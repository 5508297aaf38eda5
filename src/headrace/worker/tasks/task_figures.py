# SPDX-License-Identifier: Apache-2.0
"""A task's figures on its worker: its attempts' reports, rates made of them, and counts of the attempts' ends."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from headrace.metrics.figures import TASK_WAITING
from headrace.model.deadline import Clock
from headrace.task.task_protocol import Outcome

_WINDOW_S: Final = 30.0
"""Seconds that rates are averages of, as in Kafka Connect."""
_RATES: Final = {
    "source-record-poll-rate": "source-record-poll-total",
    "source-record-write-rate": "source-record-write-total",
    "sink-record-read-rate": "sink-record-read-total",
    "sink-record-send-rate": "sink-record-send-total",
    "offset-commit-completion-rate": "offset-commit-completion-total",
    "offset-commit-skip-rate": "offset-commit-skip-total",
}
NO_ERRORS: Final = dict.fromkeys(
    (
        "total-record-failures",
        "total-record-errors",
        "total-records-skipped",
        "total-retries",
        "total-errors-logged",
        "deadletterqueue-produce-requests",
        "deadletterqueue-produce-failures",
        "last-error-timestamp",
    ),
    0.0,
)
"""Of every task, as in Kafka Connect, also of one that has met no error yet."""
_OF_OUTCOME: Final = {Outcome.FENCED: "task-fencings-total", Outcome.TAINTED: "task-taints-total"}


class TaskFigures:
    """Written by the threads that serve the task's attempts, one at a time; ``values`` is for any thread.

    What is written is replaced as a whole, never changed.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._reports: tuple[tuple[float, Mapping[str, float]], ...] = ()
        self._latest: Mapping[str, float] = {}
        self.waiting = False
        """True while the engine has no room for a process of the task, or is not there."""
        self._ends: Mapping[str, float] = dict.fromkeys(("task-restarts-total", *_OF_OUTCOME.values()), 0.0)

    def reported(self, values: Mapping[str, float]) -> None:
        """Accept the figures of the running attempt, which count from its start."""
        now = self._clock()
        reports = self._reports
        if any(values.get(total, 0.0) < self._latest.get(total, 0.0) for total in _RATES.values()):
            reports = ()  # a new attempt counts from 0 again
        reports = (*(reports or ((now, {}),)), (now, values))
        # One report from before the window stays: the first difference within it counts from there.
        while len(reports) > 2 and reports[1][0] <= now - _WINDOW_S:
            reports = reports[1:]
        self._reports, self._latest = reports, values

    def attempt_started(self, number: int) -> None:
        """Count a restart: every attempt but the first of a launch replaces one that ended without failing."""
        self.waiting = False
        if number > 0:
            self._count("task-restarts-total")

    def ended(self, outcome: Outcome | None) -> None:
        """Count the end of an attempt that another one is to follow."""
        if outcome in _OF_OUTCOME:
            self._count(_OF_OUTCOME[outcome])

    def _count(self, name: str) -> None:
        self._ends = {**self._ends, name: self._ends.get(name, 0.0) + 1}

    def values(self) -> dict[str, float]:
        """Return the figures by Kafka Connect's names. There is a rate wherever there is the total."""
        rates = {rate: self._rate(total) for rate, total in _RATES.items() if total in self._latest}
        return {**NO_ERRORS, **self._latest, **rates, **self._ends, TASK_WAITING: float(self.waiting)}

    def _rate(self, total: str) -> float:
        since = self._clock() - _WINDOW_S
        reports = self._reports
        within = [report for report in reports if report[0] > since]
        if not within:
            return 0.0
        before = reports[max(0, len(reports) - len(within) - 1)]
        seconds = min(_WINDOW_S, max(1.0, self._clock() - before[0]))
        return max(0.0, within[-1][1].get(total, 0.0) - before[1].get(total, 0.0)) / seconds
