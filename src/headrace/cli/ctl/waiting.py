# SPDX-License-Identifier: Apache-2.0
"""Waits until a connector is in a state, with progress on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from headrace.cli.ctl.command import Session
from headrace.cli.ctl.ctl_error import CtlError, ExitCode
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import Goal, failures, is_reached, states_text

Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait until it has taken effect, or cannot.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds to wait at most.", min=0)]
DEFAULT_TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The times of waiting, in seconds."""

    interval: float = 0.5
    settled: float = 2.0
    """For so long a state has to last: the one of before a restart or a new configuration is still there at first."""


PACE: Final = Pace()


def wait_for_goal(session: Session, name: str, goal: Goal, timeout: float, pace: Pace | None = None) -> None:
    """Return when the connector is in the wanted state. Raise CtlError when a part has FAILED, or at the timeout."""
    pace, begin = pace or PACE, time.monotonic()
    since, before = begin, None
    report = _reporter(session, name)
    while True:
        status = session.api.find(path("connectors", name, "status"))
        outcome, now = _outcome(goal, status), time.monotonic()
        report(status)
        if outcome != before:
            since, before = now, outcome
        if outcome is not None and (goal is Goal.GONE or now - since >= pace.settled):
            break
        if now - begin >= timeout:
            text = f"Connector {name} is not {goal.value} after {timeout:g} s: {states_text(status)}"
            raise CtlError(text, ExitCode.NOT_REACHED)
        time.sleep(pace.interval)
    if outcome:
        remedy = f"More: headrace connectors describe {name}"
        raise CtlError(f"Connector {name}: {'; '.join(outcome)}", ExitCode.NOT_REACHED, remedy)
    session.say(f"Connector {name} is {goal.value}")


def _outcome(goal: Goal, status: Any) -> list[str] | None:
    """Return no failures if the goal is reached, the failures if it cannot be, and None as long as that is open."""
    if is_reached(goal, status):
        return []
    return (goal is Goal.RUNNING and failures(status)) or None


def _reporter(session: Session, name: str) -> Callable[[Any], None]:
    """Return a function that prints each change, if a person sees it."""
    if not sys.stderr.isatty():
        return lambda status: None
    seen: list[str] = []

    def report(status: Any) -> None:
        text = states_text(status)
        if seen[-1:] != [text]:
            seen.append(text)
            session.say(f"{name}: {text}")

    return report
