# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from headrace.spark.engine.placement import Executor, WarmUp


def test_each_executor_is_warmed_up_unless_it_has_run_something() -> None:
    there = [Executor("0", "a", 2, 0), Executor("1", "b", 2, 1, used=True)]
    warmed: list[str] = []

    def run(executor: Executor) -> None:
        """Spark has it run on the wanted executor from the second time on."""
        warmed.append(executor.id)
        if warmed.count(executor.id) > 1:
            there[there.index(executor)] = replace(executor, used=True)

    warm_up = WarmUp(lambda: list(there), run)
    warm_up.check_executors()
    assert warmed == ["0"]
    there.append(Executor("2", "c", 2, 0))
    for _ in range(4):
        warm_up.check_executors()
    assert warmed == ["0", "0", "2", "2"]


def test_nothing_is_begun_after_its_stop() -> None:
    warmed: list[str] = []
    warm_up = WarmUp(lambda: [Executor("0", "a", 2, 0)], lambda executor: warmed.append(executor.id))
    warm_up.stop()
    warm_up.check_executors()
    assert warmed == []
