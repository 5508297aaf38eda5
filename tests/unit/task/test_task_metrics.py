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
