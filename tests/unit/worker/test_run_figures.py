# SPDX-License-Identifier: Apache-2.0
"""What a worker counts of its connectors and tasks, and of the attempts of a task."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.metrics.figures import RunFigures, Startups
from headrace.model.ids import ConnectorTaskId
from headrace.task.task_protocol import Outcome
from headrace.worker.run_figures import RunRecorder
from headrace.worker.tasks.task_figures import NO_ERRORS, TaskFigures
from tests.unit.clock import Clock

TASK = ConnectorTaskId("c", 0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorder(status: Any, clock: Clock) -> RunRecorder:
    return RunRecorder(status, clock)


def test_every_status_is_passed_on(recorder: RunRecorder, status: Any) -> None:
    recorder.on_startup(TASK)
    recorder.on_running(TASK)
    recorder.on_pause(TASK)
    recorder.on_stop("c")
    recorder.on_failure(TASK, "trace")
    recorder.on_restart(TASK, "reason")
    recorder.on_topics(TASK, ["t"])
    recorder.on_shutdown(TASK)
    assert status.of(TASK) == ["startup", "running", "pause", "failure", "restart", "topics", "shutdown"]
    assert status.of("c") == ["stop"]


def test_the_part_of_its_time_that_a_task_runs(recorder: RunRecorder, clock: Clock) -> None:
    recorder.record_start(TASK)
    clock.now += 2
    assert recorder.figures(TASK) == RunFigures("unassigned", 0.0, 0.0)
    recorder.on_startup(TASK)
    clock.now += 4
    recorder.on_pause(TASK)
    clock.now += 2
    assert recorder.figures(TASK) == RunFigures("paused", 0.5, 0.25)
    recorder.on_failure(TASK, "trace")
    clock.now += 8
    assert recorder.figures(TASK) == RunFigures("failed", 0.25, 0.125)
    recorder.on_shutdown(TASK)
    assert recorder.figures(TASK) == RunFigures("unassigned", 0.0, 0.0)


def test_starts(recorder: RunRecorder) -> None:
    recorder.record_start("c")
    recorder.on_failure("c", "trace")
    recorder.on_running("c")
    recorder.record_start("d")
    recorder.on_pause("d")
    recorder.record_start(TASK)
    recorder.on_restart(TASK, "its process was lost")
    assert recorder.startups(ConnectorTaskId) == Startups(1, 0, 0), "it is not known yet"
    recorder.on_running(TASK)
    recorder.on_failure(TASK, "later")
    recorder.on_running(TASK)
    assert recorder.startups(str) == Startups(2, 1, 1)
    assert recorder.startups(ConnectorTaskId) == Startups(1, 1, 0)


def test_rates_are_those_of_the_last_half_minute(clock: Clock) -> None:
    figures = TaskFigures(clock)
    assert "source-record-poll-rate" not in figures.values()
    for total in range(100, 6100, 100):
        clock.now += 1
        figures.reported({"source-record-poll-total": float(total)})
    values = figures.values()
    assert values["source-record-poll-total"] == 6000
    assert values["source-record-poll-rate"] == pytest.approx(100, rel=0.05)
    assert "source-record-write-rate" not in values
    clock.now += 15
    assert figures.values()["source-record-poll-rate"] == pytest.approx(50, rel=0.1)
    clock.now += 16
    assert figures.values()["source-record-poll-rate"] == 0.0


def test_a_new_attempt_counts_from_its_start(clock: Clock) -> None:
    figures = TaskFigures(clock)
    figures.reported({"source-record-poll-total": 1000.0})
    clock.now += 10
    figures.reported({"source-record-poll-total": 30.0})
    clock.now += 2
    figures.reported({"source-record-poll-total": 60.0})
    assert figures.values()["source-record-poll-rate"] == 30.0


def test_how_attempts_end(clock: Clock) -> None:
    figures = TaskFigures(clock)
    figures.attempt_started(0)
    none = {"task-restarts-total": 0, "task-fencings-total": 0, "task-taints-total": 0, "waiting-for-cores": 0}
    assert figures.values() == {**NO_ERRORS, **none}
    for attempt, outcome in enumerate((Outcome.FENCED, Outcome.TAINTED, None, Outcome.TAINTED), start=1):
        figures.ended(outcome)
        figures.attempt_started(attempt)
    ends = {"task-restarts-total": 4, "task-fencings-total": 1, "task-taints-total": 2}
    assert figures.values() == {**NO_ERRORS, **none, **ends}
    figures.waiting = True
    assert figures.values() == {**NO_ERRORS, **none, **ends, "waiting-for-cores": 1}
    figures.attempt_started(5)
    assert figures.values()["waiting-for-cores"] == 0
