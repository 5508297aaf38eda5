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
