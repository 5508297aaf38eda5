# SPDX-License-Identifier: Apache-2.0
"""Waits until several connectors are in their states and healthy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.ctl import waiting
from headrace.cli.ctl.statuses import Goal, failures, is_reached, states_text

if TYPE_CHECKING:
    from headrace.cli.ctl.rest_api import RestApi

_HEALTHY: Final = (None, "healthy")
"""Java's workers have no verdict."""
_LONGER: Final = 3
"""So many times as long as a good state a FAILED one has to last: it may be that of before the change."""

Report = Callable[[str], None]


@dataclass(slots=True)
class _Watched:
    """One connector: its newest states in words, and since when its outcome is the same.

    The outcome is empty if the goal is reached, has reasons if it cannot be, and is None as long as that is open.
    """

    name: str
    goal: Goal
    since: float
    outcome: Sequence[str] | None = None
    text: str = ""

    def look(self, exists: bool, known: Mapping[str, Any], now: float) -> bool:
        """Take in a connector's newest status and health; return True if the text is another one now."""
        before = self.text
        status, health = known.get("status"), known.get("health") or {}
        outcome = self._outcome(exists, status, health)
        self.text = states_text(status) if exists else Goal.GONE.value
        if health.get("verdict") not in _HEALTHY:
            self.text += f"; {health['verdict']}: {health.get('why')}"
        if outcome != self.outcome:
            self.since, self.outcome = now, outcome
        return self.text != before

    def is_done(self, now: float) -> bool:
        if self.outcome is None:
            return False
        lasts = waiting.PACE.settled * (_LONGER if self.outcome else 1)
        return self.goal is Goal.GONE or now - self.since >= lasts

    def _outcome(self, exists: bool, status: Any, health: Mapping[str, Any]) -> Sequence[str] | None:
        if self.goal is Goal.GONE or not exists:
            return () if self.goal is Goal.GONE and not exists else None
        if is_reached(self.goal, status) and (self.goal is not Goal.RUNNING or health.get("verdict") in _HEALTHY):
            return ()
        return (self.goal is not Goal.STOPPED and tuple(failures(status))) or None


def await_connectors(
    api: RestApi, goals: Mapping[str, Goal], timeout: float, report: Report
) -> dict[str, Sequence[str]]:
    """Return the reasons why connectors are not as wanted, by name; none if all are so within ``timeout`` seconds.

    A running connector is as wanted if its worker takes it for healthy, too. A state has to last a while, since the
    former one is visible at first. ``report`` gets a line for each change of states.
    """
    begin = time.monotonic()
    watched = open_ = [_Watched(name, goal, begin) for name, goal in goals.items()]
    while open_:
        names = set(api.get("/connectors"))
        found = api.get("/connectors", expand=["status", "health"])
        now = time.monotonic()
        for each in open_:
            if each.look(each.name in names, found.get(each.name) or {}, now):
                report(f"{each.name}: {each.text}")
        open_ = [each for each in open_ if not each.is_done(now)]
        if now - begin >= timeout:
            break
        if open_:
            time.sleep(waiting.PACE.interval)
    late = f"not {{}} after {timeout:g} s: "
    return {
        each.name: each.outcome or (late.format(each.goal.value) + each.text,)
        for each in watched
        if each.outcome or each in open_
    }
