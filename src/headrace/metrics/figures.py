# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a worker's figures, of its connectors, tasks and group. Java: ``ConnectMetrics``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from headrace.model.ids import ConnectorTaskId
from headrace.model.step_counts import StepCounts

TASK_WAITING: Final = "waiting-for-cores"


@dataclass(frozen=True, slots=True)
class Startups:
    """The counts of a worker's starts of connectors or tasks; a start under way is no success and no failure."""

    attempts: int = 0
    successes: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The state, in lower case, of a connector or task; ratios are parts, up to 1, of the time since its start here."""

    state: str
    running_ratio: float
    pause_ratio: float


@dataclass(frozen=True, slots=True)
class ConnectorFigures:
    """A connector's run, version, class and type: source, sink or unknown; ``values`` are metrics of its own."""

    run: RunFigures
    version: str | None
    connector_class: str = ""
    type: str = "unknown"
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskRunFigures:
    """A task's run, its own figures, ``values``, by Kafka Connect's names, and the counts of its steps, in order."""

    run: RunFigures
    values: Mapping[str, float]
    steps: Sequence[StepCounts] = ()


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """A worker's membership. Times are milliseconds, None as long as there was no rebalance.

    ``assigned_connectors`` and ``assigned_tasks`` are the work that the newest assignment gives to this worker.
    """

    leader_name: str | None
    protocol: str
    epoch: int
    completed_rebalances: int
    rebalancing: bool
    rebalance_max_ms: float | None = None
    rebalance_avg_ms: float | None = None
    since_last_rebalance_ms: float | None = None
    assigned_connectors: int = 0
    assigned_tasks: int = 0


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """A snapshot of a worker's figures; ``group`` only for a member of a group."""

    connectors: Mapping[str, ConnectorFigures] = field(default_factory=dict)
    tasks: Mapping[ConnectorTaskId, TaskRunFigures] = field(default_factory=dict)
    connector_startups: Startups = Startups()
    task_startups: Startups = Startups()
    group: GroupFigures | None = None
