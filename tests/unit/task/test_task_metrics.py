# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from headrace.task.task_metrics import TaskMetrics


def test_it_reports_once_a_second_while_something_changes(clock: Any) -> None:
    reports: list[Any] = []
    metrics = TaskMetrics(reports.append, clock)
    metrics.add("n", 2)
    metrics.add("n", 1)
    metrics.report_if_due()
    assert reports == []
    clock.now += 1
    metrics.report_if_due()
    metrics.report_if_due()
    clock.now += 1
    metrics.report_if_due()
    assert reports == [{"n": 3}]
    metrics.maximum("m", 5)
    metrics.maximum("m", 4)
    metrics.report_if_due()
    metrics.add("n", 1)
    assert reports == [{"n": 3}, {"n": 3, "m": 5}], "what was reported stays as it was"


def test_samples_are_those_of_two_windows(clock: Any) -> None:
    reports: list[Any] = []
    metrics = TaskMetrics(reports.append, clock)
    for size in (4, 2, 9):
        metrics.sample("size", size)
    metrics.sample("took", 1.5, "-time-ms")
    metrics.report()
    assert reports[-1] == {
        **{"size-avg": 5, "size-min": 2, "size-max": 9},
        **{"took-avg-time-ms": 1.5, "took-min-time-ms": 1.5, "took-max-time-ms": 1.5},
    }
    clock.now += 31
    metrics.sample("size", 1)
    metrics.report()
    assert (reports[-1]["size-avg"], reports[-1]["size-min"], reports[-1]["size-max"]) == (4, 1, 9)
    clock.now += 30
    metrics.sample("size", 3)
    metrics.report()
    assert (reports[-1]["size-avg"], reports[-1]["size-max"]) == (2, 3), "the oldest window is forgotten"
    clock.now += 1000
    metrics.report()
    assert reports[-1]["size-avg"] == 3, "the last that was known"


def test_samples_are_seen_as_minimum_average_and_maximum(clock: Any) -> None:
    seen: dict[str, float] = {}
    metrics = TaskMetrics(seen.update, clock)
    for value in (3, 1, 8):
        metrics.sample("transaction-size", value)
        metrics.sample("offset-commit", value, "-time-ms")
    metrics.report()
    expected = {"min": 1, "avg": 4, "max": 8}
    assert seen == {
        **{f"transaction-size-{kind}": value for kind, value in expected.items()},
        **{f"offset-commit-{kind}-time-ms": value for kind, value in expected.items()},
    }


def test_totals_that_are_declared_are_0_at_first(clock: Any) -> None:
    reports: list[Any] = []
    metrics = TaskMetrics(reports.append, clock)
    metrics.declare("a", "b")
    metrics.add("a", 2)
    clock.now += 1
    metrics.report_if_due()
    assert reports == [{"a": 2, "b": 0}]


def test_a_level_has_an_average_and_a_maximum_of_what_it_was(clock: Any) -> None:
    reports: list[Any] = []
    metrics = TaskMetrics(reports.append, clock)
    for value in (4, 4, 8, 0):
        metrics.level("n", value)
    metrics.report()
    assert reports == [{"n": 0, "n-avg": 4, "n-min": 0, "n-max": 8}]


def test_outcomes_are_parts_of_all(clock: Any) -> None:
    reports: list[Any] = []
    metrics = TaskMetrics(reports.append, clock)
    for succeeded in (True, True, False, True):
        metrics.outcome("commit", succeeded)
    metrics.report()
    assert reports == [{"commit-success-percentage": 0.75, "commit-failure-percentage": 0.25}]


def test_what_is_replaced_is_gone(clock: Any) -> None:
    reports: list[Any] = []
    metrics = TaskMetrics(reports.append, clock)
    metrics.add("own", 1)
    metrics.replace("client", {"a": 1.0, "b": 1.0})
    metrics.report()
    metrics.replace("client", {"b": 2.0})
    clock.now += 1
    metrics.report_if_due()
    metrics.replace("client", {"b": 2.0})
    clock.now += 1
    metrics.report_if_due()
    assert reports == [{"own": 1, "a": 1, "b": 1}, {"own": 1, "b": 2}], "the same again is no change"


def test_figures_are_brought_up_to_date_once_a_second(clock: Any) -> None:
    reports: list[Any] = []
    metrics = TaskMetrics(reports.append, clock)
    ends = iter((5, 5, 7))
    metrics.before_report(lambda: metrics.gauge("end", next(ends)))
    for _ in range(3):
        clock.now += 1
        metrics.report_if_due()
        metrics.report_if_due()
    assert reports == [{"end": 5}, {"end": 7}]


def test_the_last_figures_of_an_attempt(clock: Any) -> None:
    reports: list[Any] = []
    metrics = TaskMetrics(reports.append, clock)
    metrics.report_last()
    metrics.add("errors", 1)
    metrics.report_last()
    assert reports == [{"errors": 1}]

    def lost(values: Any) -> None:
        raise ConnectionError("the worker is gone")

    metrics = TaskMetrics(lost, clock)
    metrics.add("errors", 1)
    metrics.report_last()


def test_sizes_are_those_of_one_batch_for_each_report(clock: Any) -> None:
    reports: list[Any] = []
    metrics, batches = TaskMetrics(reports.append, clock), iter([None, 10.0, 20.0])
    for _ in range(5):  # the first batch has no records, and the others are not looked at
        metrics.sample_size(lambda: next(batches))
    metrics.report()
    assert reports[-1]["record-size-avg"] == 10
    for _ in range(5):
        metrics.sample_size(lambda: next(batches))
    metrics.report()
    assert reports[-1]["record-size-avg"] == 15
