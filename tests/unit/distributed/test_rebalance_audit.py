# SPDX-License-Identifier: Apache-2.0
"""The line of a rebalance: who had and has what, and why, by rounds of the real assignors."""

from __future__ import annotations

from datetime import UTC, datetime

from headrace.distributed.group.assignors import LeaderMemory, Loss, Member, Round, Share, assign_eagerly
from headrace.distributed.group.incremental_cooperative_assignor import assign_incrementally
from headrace.distributed.group.rebalance_audit import LedRound
from headrace.model.ids import ConnectorTaskId

NOW = datetime(2026, 11, 23, 0, 45, tzinfo=UTC)
A, B, X = "http://a:8083/", "http://b:8083/", "http://x:8083/"


def share(*numbers: int, connector: bool = True) -> Share:
    connectors = frozenset({"c"}) if connector else frozenset[str]()
    return Share(connectors, frozenset(ConnectorTaskId("c", number) for number in numbers))


def led(before: LeaderMemory, members: dict[str, Member], work: Share, delay: float = 300.0) -> LedRound:
    return LedRound(before, members, assign_incrementally(members, work, before, 0.0, delay), work)


def text(led: LedRound) -> tuple[str, str]:
    return led.change(NOW), led.reason()


def test_the_first_round_of_a_leader() -> None:
    round = led(LeaderMemory(), {"1": Member(A)}, share(0, 1))
    assert text(round) == (
        "a:8083 had nothing → has c, c-0, c-1",
        "this worker leads now, c, c-0, c-1 to be assigned",
    )


def test_a_worker_that_joins_is_given_what_another_gives_up() -> None:
    all_of_it = share(0, 1, 2)
    first = led(LeaderMemory({"1": Member(A, all_of_it)}), {"1": Member(A, all_of_it), "2": Member(B)}, all_of_it)
    assert text(first) == (
        "a:8083 had c, c-0, c-1, c-2 → has c, c-0, c-1; b:8083 has nothing as before",
        "b:8083 joined",
    )
    members = {"1": Member(A, share(0, 1)), "2": Member(B)}
    second = led(first.outcome.memory, members, all_of_it)
    assert text(second) == (
        "a:8083 has c, c-0, c-1 as before; b:8083 had nothing → has c-2",
        "c-2 to be assigned",
    )


def test_the_work_of_a_worker_that_left_is_kept_for_it() -> None:
    before = LeaderMemory({"1": Member(A, share(0)), "9": Member(X, share(1, connector=False))})
    round = led(before, {"1": Member(A, share(0))}, share(0, 1))
    assert text(round) == (
        "a:8083 has c, c-0 as before; x:8083 had c-1 → is gone; c-1 kept for x:8083; "
        "delayed by 300000 ms until 2026-11-23T00:50:00Z",
        "x:8083 left",
    )
    back = led(round.outcome.memory, {"1": Member(A, share(0)), "10": Member(X)}, share(0, 1))
    assert text(back) == ("a:8083 has c, c-0 as before; x:8083 had nothing → has c-1", "x:8083 is back")


def test_the_delay_for_a_lost_worker_ends() -> None:
    lost = Loss(X, share(1, connector=False), until=-1.0)
    before = LeaderMemory({"1": Member(A, share(0))}, losses=(lost,))
    round = led(before, {"1": Member(A, share(0))}, share(0, 1))
    assert text(round) == ("a:8083 had c, c-0 → has c, c-0, c-1", "the delay for x:8083 is over")


def test_a_connector_that_was_deleted() -> None:
    round = led(LeaderMemory({"1": Member(A, share(0))}), {"1": Member(A, share(0))}, Share())
    assert text(round) == ("a:8083 had c, c-0 → has nothing", "c, c-0 removed")
    assert led(LeaderMemory({"1": Member(A)}), {"1": Member(A)}, Share()).reason() == "a worker has requested it"


def test_eager_members_had_what_they_were_given() -> None:
    members, work = {"1": Member(A), "2": Member(B)}, share(0, 1)
    before = LeaderMemory({"1": Member(A, work)})
    round = LedRound(before, members, assign_eagerly(members, work), work)
    assert text(round) == ("a:8083 had c, c-0, c-1 → has c, c-1; b:8083 had nothing → has c-0", "b:8083 joined")


def test_a_thousand_tasks_are_one_short_line() -> None:
    work = share(*range(1000))
    halves = [share(*range(half, 1000, 2), connector=not half) for half in (0, 1)]
    members = {"1": Member(A, halves[0]), "2": Member(B, halves[1])}
    before = LeaderMemory(members)
    outcome = Round({}, LeaderMemory({"1": Member(A, work)}))
    assert LedRound(before, {"1": Member(A, halves[0])}, outcome, work).change(NOW) == (
        "a:8083 had c, 500 of c-0..c-998 → has c, c-0..c-999; b:8083 had 500 of c-1..c-999 → is gone"
    )
