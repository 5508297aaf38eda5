# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from headrace.herder.engine.statuses import RestartPlan, restart_plan, restart_plan_from_status, with_restarting
from headrace.model.info import ConnectorState, ConnectorStateInfo, TaskState

TASKS = ((0, "RUNNING"), (1, "FAILED"), (2, "PAUSED"))


@pytest.mark.parametrize(
    ("connector", "only_failed", "include_tasks", "plan"),
    [
        ("RUNNING", False, False, RestartPlan(True, ())),
        ("RUNNING", False, True, RestartPlan(True, (0, 1, 2))),
        ("RUNNING", True, False, RestartPlan(False, ())),
        ("RUNNING", True, True, RestartPlan(False, (1,))),
        ("FAILED", True, False, RestartPlan(True, ())),
        ("FAILED", True, True, RestartPlan(True, (1,))),
        (None, False, True, RestartPlan(True, (0, 1, 2))),
        (None, True, True, RestartPlan(False, (1,))),
    ],
)
def test_what_is_restarted(connector: str | None, only_failed: bool, include_tasks: bool, plan: RestartPlan) -> None:
    assert restart_plan(connector, TASKS, only_failed=only_failed, include_tasks=include_tasks) == plan


def test_what_is_shown_keeps_the_trace() -> None:
    status = ConnectorStateInfo(
        "c",
        ConnectorState("RUNNING", "w:1"),
        (TaskState(0, "RUNNING", "w:1"), TaskState(1, "FAILED", "w:2", "boom")),
        "source",
    )
    shown = with_restarting(status, restart_plan_from_status(status, only_failed=True, include_tasks=True))
    assert shown.connector.state == "RUNNING"
    assert shown.tasks == (TaskState(0, "RUNNING", "w:1"), TaskState(1, "RESTARTING", "w:2", "boom"))
    assert with_restarting(status, RestartPlan(True, ())).connector == ConnectorState("RESTARTING", "w:1")
