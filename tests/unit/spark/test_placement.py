# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.spark.engine.placement import Executor, Placement


def executors(*hosts: str, cores: int = 4, busy: int = 0) -> list[Executor]:
    return [Executor(str(number), host, cores, busy) for number, host in enumerate(hosts)]


def placed(placement: Placement, group: str, there: list[Executor]) -> str | None:
    chosen = placement.place(group, there)
    return chosen.id if chosen else None


def test_tasks_of_a_connector_are_kept_apart_first_by_executor_then_by_host() -> None:
    placement, there = Placement(1), executors("a", "a", "b")
    places = [placed(placement, f"c-x-{task}-{task}", there) for task in range(6)]
    assert places[0] is not None and places[1] is not None
    assert {there[int(places[0])].host, there[int(places[1])].host} == {"a", "b"}
    assert sorted(places[:3]) == ["0", "1", "2"]
    assert sorted(places[3:]) == ["0", "1", "2"]


def test_connectors_with_one_task_each_are_spread_too() -> None:
    placement, there = Placement(1), executors("a", "b")
    assert sorted(str(placed(placement, f"c{number}-0-{number}", there)) for number in range(4)) == ["0", "0", "1", "1"]


def test_a_full_executor_is_not_wanted() -> None:
    placement = Placement(2)
    there = [Executor("0", "a", 4, 3), Executor("1", "b", 2, 0)]
    assert placed(placement, "c-0-0", there) == "1"
    assert placed(placement, "c-1-1", there) is None


def test_the_place_of_a_task_that_has_ended_is_free() -> None:
    placement, there = Placement(1), executors("a", "b", cores=1)
    first = placed(placement, "c-0-0", there)
    assert placed(placement, "d-0-1", there) != first
    assert placed(placement, "e-0-2", there) is None
    placement.forget("c-0-0")
    assert placed(placement, "e-0-2", there) == first


def test_one_executor_leaves_no_choice() -> None:
    assert placed(Placement(1), "c-0-0", executors("a")) is None
