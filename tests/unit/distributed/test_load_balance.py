# SPDX-License-Identifier: Apache-2.0
"""Where more work goes, and who has too much of it."""

from __future__ import annotations

from headrace.distributed.group.assignors import NOTHING, Share
from headrace.distributed.group.load_balance import place_work, surplus_work
from headrace.model.ids import ConnectorTaskId


def tasks(name: str, *numbers: int) -> frozenset[ConnectorTaskId]:
    return frozenset(ConnectorTaskId(name, number) for number in numbers)


def test_new_work_goes_to_who_has_least() -> None:
    busy = Share(frozenset({"a"}), tasks("a", 0, 1, 2, 3))
    placed = place_work({"busy": busy, "idle": NOTHING}, Share(frozenset({"b"}), tasks("b", 0, 1, 2)))
    assert placed == {"busy": busy, "idle": Share(frozenset({"b"}), tasks("b", 0, 1, 2))}


def test_tasks_of_one_connector_are_spread() -> None:
    work = Share(frozenset("abc"), tasks("a", 0, 1, 2) | tasks("b", 0, 1, 2) | tasks("c", 0, 1, 2))
    for share in place_work(dict.fromkeys("mno", NOTHING), work).values():
        assert len(share.connectors) == 1
        assert sorted(task.connector for task in share.tasks) == ["a", "b", "c"]


def test_equal_numbers_of_tasks_go_where_the_connector_has_fewest() -> None:
    shares = {"m": Share(tasks=tasks("a", 0)), "n": Share(tasks=tasks("b", 0))}
    assert place_work(shares, Share(tasks=tasks("a", 1)))["n"].tasks == tasks("b", 0) | tasks("a", 1)


def test_no_more_is_surplus_than_evenness_needs() -> None:
    work = Share(frozenset("abcde"), tasks("a", 0, 1, 2, 3))
    given_up = surplus_work({"m": work, "n": NOTHING}, work)
    assert (len(given_up["m"].connectors), len(given_up["m"].tasks)) == (2, 2)
    assert not given_up["n"]


def test_who_has_most_may_keep_the_odd_one() -> None:
    shares = {"m": Share(frozenset("a")), "n": Share(frozenset("bc"))}
    assert not any(surplus_work(shares, Share(frozenset("abc"))).values())


def test_the_surplus_is_of_the_connector_that_crowds_the_member() -> None:
    share = Share(tasks=tasks("a", 0) | tasks("b", 0, 1, 2))
    assert surplus_work({"m": share, "n": NOTHING}, share)["m"].tasks == tasks("b", 1, 2)
