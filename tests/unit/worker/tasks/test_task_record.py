# SPDX-License-Identifier: Apache-2.0
"""A worker's knowledge of a task: ages by its own clock, over the ends of attempts."""

from __future__ import annotations

import tracemalloc

import pytest

from headrace.api.lag import Lag, LagUnit
from headrace.metrics.client_metrics import FETCHES
from headrace.metrics.connect_metric import tagged
from headrace.model.health import Handling, Progress, Stage, TaskError
from headrace.worker.tasks.task_record import TaskRecord
from tests.unit.clock import Clock

LAG = tagged(FETCHES, "records-lag", client_id="c", topic="t", partition="3")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def record(clock: Clock) -> TaskRecord:
    return TaskRecord(clock)


def error(stage: Stage = Stage.POLLING, handling: Handling = Handling.RETRIED) -> TaskError:
    return TaskError("OSError", "no route", stage, handling, 5)


def test_ages_go_on_from_the_arrival_of_a_report(record: TaskRecord, clock: Clock) -> None:
    assert record.facts().progress == Progress(Stage.STARTING, 0) and record.facts().measured is None
    record.attempt_started(0)
    record.measured(Progress(Stage.PUTTING, 300, 100, 2000, None, 50, 9))
    clock.now += 1.5
    assert record.facts().progress == Progress(Stage.PUTTING, 1800, 1600, 3500, None, 1550, 9)
    assert record.facts().measured == 1500


def test_a_new_attempt_keeps_what_was_known(record: TaskRecord, clock: Clock) -> None:
    record.attempt_started(0)
    record.measured(Progress(Stage.COMMITTING, 10, 20, 30, 40, 50))
    record.met(error())
    clock.now += 1
    record.ended("its executor died")
    facts = record.facts()
    assert facts.progress == Progress(Stage.STARTING, 0, 1020, 1030, 1040, None)
    assert (facts.restarts, facts.restart_reason, facts.attempt) == (0, "its executor died", 0)
    record.waiting()
    clock.now += 2
    assert record.facts().progress.stage is Stage.WAITING_FOR_CORES
    assert record.facts().progress.stage_since == 2000
    record.attempt_started(1)
    record.waiting()  # of no meaning once there is a process
    clock.now += 3
    facts = record.facts()
    assert (facts.restarts, facts.restart_reason, facts.restart_age) == (1, "its executor died", 3000)
    assert (facts.progress.stage, facts.attempt, facts.error_age) == (Stage.STARTING, 3000, 6000)


def test_restarts_of_the_last_minute_are_counted(record: TaskRecord, clock: Clock) -> None:
    record.attempt_started(0)
    for number in (1, 2, 3):
        clock.now += 30
        record.ended("fenced")
        record.attempt_started(number)
    assert (record.facts().restarts, record.facts().restarts_lately) == (3, 2)
    clock.now += 60
    assert (record.facts().restarts, record.facts().restarts_lately) == (3, 0)


def test_errors_soon_after_each_other_are_one_trouble(record: TaskRecord, clock: Clock) -> None:
    for _ in range(3):
        record.met(error())
        clock.now += 100
    assert (record.facts().error_age, record.facts().error_since) == (100_000, 300_000)
    record.met(error(Stage.COMMITTING))
    assert record.facts().error_since == 0
    clock.now += 121
    record.met(error(Stage.COMMITTING))
    assert record.facts().error_since == 0


def test_rates_of_the_last_minute(record: TaskRecord, clock: Clock) -> None:
    assert record.facts().records_per_second is None and record.facts().bytes_per_second is None
    for second in range(1, 91):
        clock.now += 1
        record.reported({"source-record-write-total": 10.0 * second, "record-size-avg": 100.0})
        assert record.facts().records_per_second == pytest.approx(10)
    assert record.facts().bytes_per_second == pytest.approx(1000)
    clock.now += 30
    assert record.facts().records_per_second == pytest.approx(5)
    assert record.facts().bytes_per_second == pytest.approx(500)
    clock.now += 31
    assert record.facts().records_per_second == record.facts().bytes_per_second == 0
    record.attempt_started(1)
    clock.now += 10
    record.reported({"source-record-write-total": 30.0})
    assert record.facts().records_per_second == 3 and record.facts().bytes_per_second is None, "no sample yet"


def test_the_newest_lag_and_errors(record: TaskRecord) -> None:
    record.reported({"sink-record-send-total": 0.0, LAG: 90.0})
    assert record.facts().lag == {"t-3": 90}
    record.reported({"sink-record-send-total": 88.0, LAG: 5.0, "total-retries": 4.0})
    facts = record.facts()
    assert facts.lag == {"t-3": 5}
    assert facts.errors == {"failures": 0, "errors": 0, "skipped": 0, "retries": 4, "dead_letters": 0}


def test_a_sources_lag_outlasts_its_attempt_until_the_next(record: TaskRecord, clock: Clock) -> None:
    lag = Lag(LagUnit.FILES, {"/in": 3})
    record.attempt_started(0)
    record.measured(Progress(Stage.POLLING, 1, lag=lag, lag_since=200))
    clock.now += 2
    assert (record.facts().progress.lag, record.facts().progress.lag_since) == (lag, 2200)
    record.gone()
    assert record.facts().progress.lag == lag
    record.attempt_started(1)
    assert (record.facts().progress.lag, record.facts().progress.lag_since) == (None, None)


def test_one_question_at_a_time(record: TaskRecord, clock: Clock) -> None:
    assert record.await_answer(0)
    assert not record.ask()  # there is no process
    record.attempt_started(0)
    assert record.ask() and not record.ask()
    assert not record.await_answer(0)
    clock.now += 7
    assert record.facts().silent == 7000
    record.answered()
    assert record.await_answer(0) and record.facts().silent is None and record.ask()
    record.gone()
    assert record.await_answer(0)


def test_little_is_kept_of_a_tasks_figures(clock: Clock) -> None:
    """A worker keeps a thousand records of tasks that have ended."""
    tracemalloc.start()
    try:
        records = [TaskRecord(clock) for _ in range(100)]
        empty, _ = tracemalloc.get_traced_memory()
        for number, record in enumerate(records):
            record.reported({tagged("g", f"figure-{each}", client_id=f"client-{number}"): 1.0 for each in range(60)})
        filled, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (filled - empty) / len(records) < 3000
