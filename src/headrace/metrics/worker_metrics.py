# SPDX-License-Identifier: Apache-2.0
"""``connect-worker-metrics``: the connectors and tasks on this worker, and how their starts ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.metrics.connect_metric import ConnectMetric, Reading, by_name, metrics_of
from headrace.metrics.figures import TASK_WAITING, Startups, WorkerFigures

_GROUP: Final = "connect-worker-metrics"
_TASK_STATES: Final = ("running", "paused", "failed", "unassigned", "destroyed", "restarting")
_OF_WORKER: Final = by_name(
    metrics_of(
        _GROUP,
        (),
        {
            "connector-count": "Connectors on this worker, failed or not.",
            "task-count": "Tasks on this worker, failed or not.",
            "tasks-waiting-for-cores": "Tasks for whose processes Spark has no cores.",
            **{
                f"{what}-startup-{name}": doc.format(what)
                for what in ("connector", "task")
                for name, doc in {
                    "attempts-total": "Starts of a {}.",
                    "success-total": "Starts of a {} that succeeded.",
                    "success-percentage": "The part, up to 1, of the ended starts of a {} that succeeded.",
                    "failure-total": "Starts of a {} that failed.",
                    "failure-percentage": "The part, up to 1, of the ended starts of a {} that failed.",
                }.items()
            },
        },
    )
)
_OF_CONNECTOR: Final = metrics_of(
    _GROUP,
    ("connector",),
    {
        "connector-total-task-count": "Tasks of the connector on this worker.",
        **{
            f"connector-{state}-task-count": f"Tasks of the connector on this worker that are {state}."
            for state in _TASK_STATES
        },
    },
)
METRICS: Final[tuple[ConnectMetric, ...]] = (*_OF_WORKER.values(), *_OF_CONNECTOR)


def readings(figures: WorkerFigures) -> Iterator[Reading]:
    """Return the group's values."""
    waiting = sum(task.values.get(TASK_WAITING, 0.0) for task in figures.tasks.values())
    yield Reading(_OF_WORKER["connector-count"], (), len(figures.connectors))
    yield Reading(_OF_WORKER["task-count"], (), len(figures.tasks))
    yield Reading(_OF_WORKER["tasks-waiting-for-cores"], (), waiting)
    yield from _startups("connector", figures.connector_startups)
    yield from _startups("task", figures.task_startups)
    yield from _task_counts(figures)


def _startups(what: str, startups: Startups) -> Iterator[Reading]:
    yield Reading(_OF_WORKER[f"{what}-startup-attempts-total"], (), startups.attempts)
    ended = startups.successes + startups.failures
    for outcome, count in (("success", startups.successes), ("failure", startups.failures)):
        yield Reading(_OF_WORKER[f"{what}-startup-{outcome}-total"], (), count)
        yield Reading(_OF_WORKER[f"{what}-startup-{outcome}-percentage"], (), count / ended if ended else 0.0)


def _task_counts(figures: WorkerFigures) -> Iterator[Reading]:
    states: dict[str, list[str]] = {name: [] for name in figures.connectors}
    for id, task in figures.tasks.items():
        states.setdefault(id.connector, []).append(task.run.state)
    total, *of_states = _OF_CONNECTOR
    for connector, own in sorted(states.items()):
        yield Reading(total, (connector,), len(own))
        for metric, state in zip(of_states, _TASK_STATES, strict=True):
            yield Reading(metric, (connector,), own.count(state))
