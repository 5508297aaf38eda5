# SPDX-License-Identifier: Apache-2.0
"""The connector and tasks that a restart covers, by their statuses (KIP-745). Java: ``RestartPlan``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headrace.model.info import ConnectorStateInfo
from headrace.model.state import State


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """``connector`` is true if the connector itself is restarted; ``tasks`` are the numbers of those restarted."""

    connector: bool
    tasks: tuple[int, ...]


def restart_plan(
    connector: str | None, tasks: Iterable[tuple[int, str]], *, only_failed: bool, include_tasks: bool
) -> RestartPlan:
    """Return the plan. ``connector`` is its state, None if unknown; ``tasks`` are the tasks' numbers and states."""
    failed = State.FAILED.value
    chosen = tuple(number for number, state in tasks if include_tasks and (not only_failed or state == failed))
    return RestartPlan(not only_failed or connector == failed, chosen)


def restart_plan_from_status(status: ConnectorStateInfo, *, only_failed: bool, include_tasks: bool) -> RestartPlan:
    """Return the plan by the answer of ``GET /connectors/{name}/status``."""
    tasks = [(task.id, task.state) for task in status.tasks]
    return restart_plan(status.connector.state, tasks, only_failed=only_failed, include_tasks=include_tasks)


def with_restarting(status: ConnectorStateInfo, plan: RestartPlan) -> ConnectorStateInfo:
    """Return the status with RESTARTING wherever the plan restarts something, the answer to a restart request."""
    state = State.RESTARTING.value
    connector = replace(status.connector, state=state) if plan.connector else status.connector
    tasks = tuple(replace(task, state=state) if task.id in plan.tasks else task for task in status.tasks)
    return replace(status, connector=connector, tasks=tasks)
