# SPDX-License-Identifier: Apache-2.0
"""The health of connectors put together from what this worker knows and what others answer."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest

from headrace.api.errors import RetriableError
from headrace.api.lag import Lag, LagUnit
from headrace.herder.connector_health import ConnectorHealth, HealthServices, stalled_timeout
from headrace.herder.herder_queries import HerderQueries
from headrace.herder.worker_parts import WorkerParts
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.health import Handling, Progress, Stage, TaskConfigsError, TaskError, TaskFacts
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TaskStatus
from headrace.model.step_counts import StepCounts, StepKind
from headrace.rest.api_schemas import SCHEMAS
from headrace.worker.stages import Stages

C0, C1, C2, D0 = (ConnectorTaskId(name, task) for name, task in (("c", 0), ("c", 1), ("c", 2), ("d", 0)))
WELL = TaskFacts(Progress(Stage.POLLING, 4, 3, 2, 1, None), 9_000, 1, None, 2.5)
OWNERS = {C0: "here:1", C1: "there:1", D0: "away:1"}


class Statuses:
    def __init__(self) -> None:
        self.states: dict[ConnectorTaskId, tuple[State, str | None]] = dict.fromkeys(OWNERS, (State.RUNNING, None))
        self.connectors_at = "here:1"

    def connector(self, name: str) -> ConnectorStatus | None:
        return ConnectorStatus(name, State.RUNNING, self.connectors_at, 3) if name in ("c", "d", "idle") else None

    def task(self, id: ConnectorTaskId) -> TaskStatus | None:
        state, trace = self.states[id]
        return TaskStatus(id, state, OWNERS[id], 3, trace)

    def tasks(self, connector: str) -> list[Any]:
        return [self.task(id) for id in OWNERS if id.connector == connector]


class Others:
    """``there:1`` answers for c's task 1; ``away:1`` never does."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.answer: Any = {"tasks": {"c": {"1": {"id": 1, "verdict": "stalled", "why": "It hangs."}}}, "errors": {}}
        self.over = threading.Event()

    def worker_health(self, worker_id: str, connector: str | None) -> Any:
        self.asked.append((worker_id, connector))
        if worker_id == "away:1":
            self.over.wait(60)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Cluster:
    def __init__(self) -> None:
        self.statuses, self.others = Statuses(), Others()
        self.facts: dict[ConnectorTaskId, TaskFacts] = {C0: WELL}
        self.errors: dict[str, TaskConfigsError] = {}
        self.configs: dict[str, Mapping[str, str | None]] = {"c": {}, "d": {}, "new": {}}

    def of(self, *names: str) -> Mapping[str, Any]:
        config = ClusterConfigState(
            connector_configs=self.configs,
            task_counts={"c": 3, "d": 1},
            task_configs={id: {} for id in (C0, C1, C2, D0)},
        )
        queries = HerderQueries(lambda: config, self.statuses, lambda _: "source", tuple, lambda: "id")
        services = HealthServices("here:1", self._here, 300_000, self.others)
        stages = Stages(time.monotonic)
        parts = WorkerParts("here:1", stages, time.monotonic)
        return ConnectorHealth(queries, services, parts, stages).of(names, lambda: self.errors).result(20)

    def _here(self, connector: str | None) -> Mapping[ConnectorTaskId, TaskFacts]:
        return {id: facts for id, facts in self.facts.items() if connector in (None, id.connector)}


@pytest.fixture
def cluster() -> Any:
    made = Cluster()
    yield made
    made.others.over.set()


def test_each_worker_is_asked_for_its_tasks(cluster: Cluster) -> None:
    health = cluster.of("c")["c"]
    here, there, nowhere = health["tasks"]
    assert cluster.others.asked == [("there:1", "c")]
    # The herder adds what there is to know of automatic restarts.
    assert {*here, "auto_restart"} == SCHEMAS["TaskHealth"]["properties"].keys() == {*nowhere, "auto_restart"}
    assert (here["verdict"], here["stage"], here["last_record"], here["measured"]) == ("healthy", "polling", 2, 1)
    assert there == {"id": 1, "verdict": "stalled", "why": "It hangs."}
    assert (nowhere["state"], nowhere["worker_id"], nowhere["verdict"]) == ("UNASSIGNED", None, "degraded")
    assert health.keys() == SCHEMAS["ConnectorHealth"]["properties"].keys()
    assert (health["verdict"], health["why"]) == ("stalled", "Task 1: It hangs.")


def test_a_worker_that_does_not_answer_costs_two_seconds(cluster: Cluster) -> None:
    began = time.monotonic()
    health = cluster.of("d", "c", "gone", "new")
    assert 1.9 < time.monotonic() - began < 10
    assert sorted(cluster.others.asked) == [("away:1", None), ("there:1", None)]
    assert health.keys() == {"c", "d"}
    (task,) = health["d"]["tasks"]
    assert task["why"] == "How it fares is not known: its worker, away:1, has not answered within 2 s."
    assert (task["state"], task["verdict"], task["stage"], task["restarts"]) == ("RUNNING", "degraded", None, None)
    assert health["c"]["tasks"][0]["stage"] == "polling"


def test_a_worker_that_cannot_be_reached_is_named_with_the_reason(cluster: Cluster) -> None:
    cluster.others.answer = RetriableError("connection refused")
    cluster.statuses.states[C1] = (State.FAILED, "boom\nTraceback")
    tasks = cluster.of("c")["c"]["tasks"]
    assert (tasks[1]["verdict"], tasks[1]["why"]) == ("failed", "It has failed: boom.")
    cluster.statuses.states[C1] = (State.RUNNING, None)
    assert "there:1, has not answered: " in cluster.of("c")["c"]["tasks"][1]["why"]
    assert "connection refused" in cluster.of("c")["c"]["tasks"][1]["why"]


def test_steps_are_only_in_the_answer_about_one_connector(cluster: Cluster) -> None:
    cluster.facts[C0] = replace(WELL, steps=[StepCounts(StepKind.TRANSFORMATION, "route", 5, 3, 1, 1, 2)])
    [step] = cluster.of("c")["c"]["tasks"][0]["steps"]
    assert step.keys() == SCHEMAS["StepCounts"]["properties"].keys()
    assert tuple(step.values()) == ("transformation", "route", 5, 3, 1, 1, 2)
    cluster.configs["idle"] = {}
    assert "steps" not in cluster.of("c", "idle")["c"]["tasks"][0]


TROUBLE = TaskConfigsError("RetriableError", "no database", "computing", 200, 42_000, 7, 15_800)


@pytest.mark.parametrize("at", ["here:1", "there:1"])
def test_a_connector_whose_task_configs_fail_is_degraded(cluster: Cluster, at: str) -> None:
    """Its worker knows it, any worker says it."""
    cluster.statuses.connectors_at = at
    if at == "here:1":
        cluster.errors = {"c": TROUBLE, "d": TROUBLE}
    else:
        cluster.others.answer = {"tasks": {}, "errors": {"c": asdict(TROUBLE)}}
    shown = cluster.of("c")["c"]["connector"]
    assert shown["verdict"] == "degraded"
    assert (
        shown["why"] == "Computing its task configurations has failed 7 times, since 42 s ago: "
        "RetriableError: no database."
    )
    error = shown["task_configs_error"]
    assert error == {
        "class": "RetriableError",
        "message": "no database",
        "stage": "computing",
        "age": 200,
        "since": 42_000,
        "attempts": 7,
        "next_attempt": 15_800,
    }
    assert error.keys() == SCHEMAS["TaskConfigsError"]["properties"].keys()
    assert {*shown, "auto_restart"} == SCHEMAS["ConnectorHealth"]["properties"]["connector"]["properties"].keys()


def test_a_connector_whose_worker_does_not_answer_is_degraded(cluster: Cluster) -> None:
    cluster.statuses.connectors_at = "there:1"
    cluster.others.answer = RetriableError("connection refused")
    shown = cluster.of("c")["c"]["connector"]
    assert shown["verdict"] == "degraded" and "there:1, has not answered: " in shown["why"]


def test_errors_and_lags_are_shown(cluster: Cluster) -> None:
    position = {"source_partition": {"file": b"x"}, "source_offset": {"n": (1, math.inf), "\ud800": "\ud800"}}
    error = TaskError("OSError", "full", Stage.PRODUCING, Handling.RETRIED, 1_800_000_000_123, position, "free some")
    cluster.facts[C0] = replace(
        WELL, last_error=error, error_age=2, error_since=7000, lag={"t-0": 3, "t-1": 4}, restarts=2, restart_reason="x"
    )
    task = cluster.of("c")["c"]["tasks"][0]
    assert task["last_error"].keys() == SCHEMAS["TaskError"]["properties"].keys()
    assert task["last_error"] == {
        "class": "OSError",
        "message": "full",
        "stage": "producing",
        "handling": "retried",
        "record": {"source_partition": {"file": "b'x'"}, "source_offset": {"n": [1, "inf"], "\\ud800": "\\ud800"}},
        "age": 2,
        "time": "2027-01-15T08:00:00.123+00:00",
        "hint": "free some",
    }
    assert task["lag"] == {"unit": "records", "records": 7, "partitions": {"t-0": 3, "t-1": 4}}
    assert task["restarts"] == {"count": 2, "reason": "x"}
    lag = Lag(LagUnit.FILES, {"/in": 3})
    cluster.facts[C0] = replace(WELL, progress=replace(WELL.progress, lag=lag))
    assert cluster.of("c")["c"]["tasks"][0]["lag"] == {"unit": "files", "files": 3, "partitions": {"/in": 3}}


@pytest.mark.parametrize(
    ("own", "timeout"), [(None, 300_000), ("", 300_000), (" 7 ", 7), ("0", 300_000), ("${a:b}", 300_000)]
)
def test_a_connectors_own_timeout(own: str | None, timeout: int) -> None:
    assert stalled_timeout({"task.stalled.timeout.ms": own}, 300_000) == timeout


def test_the_timeout_is_the_connectors(cluster: Cluster) -> None:
    cluster.facts[C0] = replace(WELL, progress=Progress(Stage.PUTTING, 60_000))
    assert cluster.of("c")["c"]["tasks"][0]["verdict"] == "healthy"
    cluster.configs["c"] = {"task.stalled.timeout.ms": "60000"}
    assert cluster.of("c")["c"]["tasks"][0]["verdict"] == "stalled"


@pytest.mark.parametrize(
    "answer",
    [
        {"tasks": {"c": {"1": {"id": 1, "verdict": "weary", "why": "?"}}}, "errors": {}},
        {"tasks": {"c": {"1": {"id": 1}}}, "errors": {}},
        {"tasks": {"c": {"1": None}}, "errors": {}},
        {"tasks": {"c": []}, "errors": {}},
        {"tasks": {}, "errors": {"c": {"new": 1}}},
        {"c": {"1": {"id": 1, "verdict": "healthy", "why": "It is well."}}},
        [],
        7,
    ],
)
def test_an_answer_of_another_version_spoils_nothing_else(cluster: Cluster, answer: Any) -> None:
    cluster.others.answer = answer
    health = cluster.of("c")["c"]
    here, there, _ = health["tasks"]
    assert here["verdict"] == "healthy" and here["last_record"] == 2
    assert (there["verdict"], there["state"], there["stage"]) == ("degraded", "RUNNING", None)
    assert there["why"].startswith("How it fares is not known: its worker, there:1, ")


def test_a_connector_without_tasks_says_so(cluster: Cluster) -> None:
    """It may be right, but no record comes."""
    cluster.configs["idle"] = {}
    health = cluster.of("idle")["idle"]
    assert (health["verdict"], health["why"], health["tasks"]) == ("healthy", "It runs, and has no tasks.", [])
