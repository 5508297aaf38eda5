# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.spark.placement import Executor
from headrace.spark.warm_up import WarmUp


def test_each_executor_is_warmed_up_once_unless_it_works_already() -> None:
    there = [Executor("0", "a", 2, 0), Executor("1", "b", 2, 1)]
    warmed: list[str] = []
    warm_up = WarmUp(lambda: there, lambda executor: warmed.append(executor.id))
    warm_up.look()
    assert warmed == ["0"]
    there.append(Executor("2", "c", 2, 0))
    warm_up.look()
    warm_up.look()
    assert warmed == ["0", "2"]


def test_nothing_is_begun_after_its_stop() -> None:
    warmed: list[str] = []
    warm_up = WarmUp(lambda: [Executor("0", "a", 2, 0)], lambda executor: warmed.append(executor.id))
    warm_up.stop()
    warm_up.look()
    assert warmed == []
