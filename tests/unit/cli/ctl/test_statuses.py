# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from headrace.cli.ctl.statuses import Goal, is_reached, reason, tasks_text
from headrace.herder.errors import AlreadyExistsError, RebalanceNeededError
from headrace.model.state import TargetState
from tests.unit.cli.ctl.conftest import Cluster, Commands

JAVA = """org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler
\tat org.apache.kafka.connect.runtime.errors.RetryWithToleranceOperator.execAndHandleError(R.java:237)
Caused by: org.apache.kafka.connect.errors.DataException: Unexpected value
\tat a.b.C.d(C.java:7)
Caused by: java.lang.ClassCastException: no String
\t... 12 more
"""


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (JAVA, "ClassCastException: no String"),
        ("java.io.IOException: gone\n\tat a.B.c(B.java:1)\n", "IOException: gone"),
        ('Traceback (most recent call last):\n  File "a"\nValueError: bad\n', "ValueError: bad"),
        ("", "no reason is known"),
        (None, "no reason is known"),
    ],
)
def test_the_reason_in_a_trace(trace: str | None, said: str) -> None:
    assert reason(trace) == said


def status(connector: str, *tasks: str) -> dict[str, Any]:
    parts = [{"id": number, "state": state} for number, state in enumerate(tasks)]
    return {"connector": {"state": connector}, "tasks": parts}


@pytest.mark.parametrize(
    ("goal", "of", "reached"),
    [
        (Goal.RUNNING, status("RUNNING", "RUNNING", "RUNNING"), True),
        (Goal.RUNNING, status("RUNNING", "RUNNING", "UNASSIGNED"), False),
        (Goal.RUNNING, status("RUNNING"), False),
        (Goal.RUNNING, None, False),
        (Goal.PAUSED, status("PAUSED"), True),
        (Goal.PAUSED, status("PAUSED", "RUNNING"), False),
        (Goal.STOPPED, status("STOPPED"), True),
        (Goal.STOPPED, status("STOPPED", "STOPPED"), False),
        (Goal.GONE, None, True),
        (Goal.GONE, status("RUNNING"), False),
    ],
)
def test_wanted_states(goal: Goal, of: dict[str, Any] | None, reached: bool) -> None:
    assert is_reached(goal, of) is reached


def test_how_many_tasks_run() -> None:
    assert tasks_text(status("RUNNING", "RUNNING", "FAILED", "PAUSED")) == "1/3 running, 1 failed"


def test_a_rebalance_is_waited_for(commands: Commands, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [RebalanceNeededError("a rebalance is in progress")]
    change = Cluster.set_target_state

    def once_refused(herder: Cluster, name: str, state: TargetState) -> Future[None]:
        if refusals:
            raise refusals.pop()
        return change(herder, name, state)

    monkeypatch.setattr(Cluster, "set_target_state", once_refused)
    assert commands.run("connectors", "pause", "orders")[0] == 0
    assert (refusals, cluster.states["orders"]) == ([], TargetState.PAUSED)


def test_other_conflicts_are_not(commands: Commands, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refused(herder: Cluster, name: str, state: TargetState) -> Future[None]:
        asked.append(name)
        raise AlreadyExistsError("Connector orders already exists")

    monkeypatch.setattr(Cluster, "set_target_state", refused)
    assert commands.run("connectors", "pause", "orders") == (1, "", "Error: Connector orders already exists\n")
    assert asked == ["orders"]
