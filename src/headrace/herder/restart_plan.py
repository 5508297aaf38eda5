# SPDX-License-Identifier: Apache-2.0
"""What a restart of a connector comes to, by the statuses that there are (KIP-745). Java: ``RestartPlan``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headrace.model.info import ConnectorStateInfo
from headrace.model.state import State


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """Whether the connector itself is restarted, and which of its tasks are."""

    connector: bool
    tasks: tuple[int, ...]


def restart_plan(
    connector: str | None, tasks: Iterable[tuple[int, str]], *, only_failed: bool, include_tasks: bool
) -> RestartPlan:
    """``connector`` is its state, None where nobody has told one yet; ``tasks`` are the tasks' numbers and states."""
    failed = State.FAILED.value
    chosen = tuple(number for number, state in tasks if include_tasks and (not only_failed or state == failed))
    return RestartPlan(not only_failed or connector == failed, chosen)


def plan_of(status: ConnectorStateInfo, *, only_failed: bool, include_tasks: bool) -> RestartPlan:
    """The plan by what ``GET /connectors/{name}/status`` shows."""
    tasks = [(task.id, task.state) for task in status.tasks]
    return restart_plan(status.connector.state, tasks, only_failed=only_failed, include_tasks=include_tasks)


def restarting(status: ConnectorStateInfo, plan: RestartPlan) -> ConnectorStateInfo:
    """The status with RESTARTING wherever the plan restarts something, as a request for a restart is answered."""
    state = State.RESTARTING.value
    connector = replace(status.connector, state=state) if plan.connector else status.connector
    tasks = tuple(replace(task, state=state) if task.id in plan.tasks else task for task in status.tasks)
    return replace(status, connector=connector, tasks=tasks)
