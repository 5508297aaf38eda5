# SPDX-License-Identifier: Apache-2.0
"""Incremental cooperative assignment (KIP-415), case by case; for what always holds see test_assignment_properties."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from headrace.distributed.group.assignors import NOTHING, Change, LeaderMemory, Loss, Member, Round, Share
from headrace.distributed.group.incremental_cooperative_assignor import assign_incrementally
from headrace.model.ids import ConnectorTaskId

DELAY = 300.0


def connectors(names: str) -> Share:
    return Share(frozenset(names))


def tasks(name: str, *numbers: int) -> Share:
    return Share(tasks=frozenset(ConnectorTaskId(name, number) for number in numbers))


def assign(
    members: Mapping[str, Member],
    work: Share,
    memory: LeaderMemory | None = None,
    now: float = 0.0,
    delay: float = DELAY,
) -> Round:
    return assign_incrementally(members, work, memory or LeaderMemory(), now, delay)


def remembering(**members: Member) -> LeaderMemory:
    return LeaderMemory(members)


def test_a_group_of_one_gets_everything() -> None:
    work = connectors("ab") | tasks("a", 0, 1)
    outcome = assign({"m": Member("u")}, work)
    assert (outcome.changes, outcome.delay) == ({"m": Change(given=work)}, 0)


def test_what_is_owned_stays_and_what_was_deleted_goes() -> None:
    owned, work = connectors("ax") | tasks("a", 0, 1) | tasks("x", 0), connectors("a") | tasks("a", 0)
    outcome = assign({"m": Member("u", owned)}, work, remembering(m=Member("u", owned)))
    assert outcome.changes == {"m": Change(revoked=owned - work)}


def test_what_two_claim_stays_with_whom_it_was_given_to() -> None:
    claimed = connectors("a") | tasks("a", 0)
    members = {"m": Member("u1", claimed), "n": Member("u2", claimed)}
    outcome = assign(members, claimed, remembering(m=Member("u1"), n=Member("u2", claimed)))
    assert outcome.changes == {"m": Change(revoked=claimed), "n": Change()}


def test_what_two_claim_stays_with_the_first_if_its_owner_is_unknown() -> None:
    claimed = connectors("a") | tasks("a", 0)
    outcome = assign({"n": Member("u2", claimed), "m": Member("u1", claimed)}, claimed)
    assert outcome.changes == {"m": Change(), "n": Change(revoked=claimed)}


def test_a_newcomer_gets_its_part_only_after_its_owners_have_stopped_it() -> None:
    work = connectors("ab")
    first = assign({"m": Member("u1", work), "n": Member("u2")}, work, remembering(m=Member("u1", work)))
    assert first.changes == {"m": Change(revoked=connectors("b")), "n": Change()}
    still = {"m": Member("u1", connectors("a"), leaving=connectors("b")), "n": Member("u2")}
    second = assign(still, work, first.memory)
    assert second.changes == {"m": Change(revoked=connectors("b")), "n": Change()}, "asked again, not given to others"
    third = assign({"m": Member("u1", connectors("a")), "n": Member("u2")}, work, second.memory)
    assert third.changes == {"m": Change(), "n": Change(given=connectors("b"))}


def test_lost_work_waits_and_new_work_does_not() -> None:
    work = connectors("abcd")
    known = remembering(m=Member("u1", connectors("a")), n=Member("u2", connectors("b")), o=Member("u3"))
    members = {"m": Member("u1", connectors("a")), "o": Member("u3")}
    outcome = assign(members, work, known, now=100.0)
    assert outcome.changes == {"m": Change(given=connectors("d")), "o": Change(given=connectors("c"))}
    assert outcome.delay == DELAY
    assert outcome.memory.losses == (Loss("u2", connectors("b"), 400.0),)


def test_each_loss_has_a_delay_of_its_own() -> None:
    work = connectors("abc")
    known = remembering(**{id: Member(f"u{id}", connectors(id)) for id in "abc"})
    first = assign({"a": Member("ua", connectors("a")), "b": Member("ub", connectors("b"))}, work, known, now=0.0)
    second = assign({"a": Member("ua", connectors("a"))}, work, first.memory, now=200.0)
    assert second.delay == 100.0
    third = assign({"a": Member("ua", connectors("a"))}, work, second.memory, now=300.0)
    assert (third.changes["a"].given, third.delay) == (connectors("c"), 200.0)
    fourth = assign({"a": Member("ua", connectors("ac"))}, work, third.memory, now=500.0)
    assert (fourth.changes["a"].given, fourth.delay) == (connectors("b"), 0)


def test_without_a_delay_lost_work_is_given_out_at_once() -> None:
    known = remembering(m=Member("u1"), n=Member("u2", connectors("b")))
    outcome = assign({"m": Member("u1")}, connectors("b"), known, delay=0.0)
    assert (outcome.changes["m"].given, outcome.delay) == (connectors("b"), 0)


def test_who_returns_has_its_own_back_and_a_stranger_does_not() -> None:
    work = connectors("ab")
    known = remembering(m=Member("u1", connectors("a")), n=Member("u2", connectors("b")))
    lost = assign({"m": Member("u1", connectors("a"))}, work, known).memory
    stranger = assign({"m": Member("u1", connectors("a")), "x": Member("u9")}, work, lost, now=10.0)
    assert (stranger.changes["x"], stranger.delay) == (Change(), 290.0)
    back = assign(
        {"m": Member("u1", connectors("a")), "x": Member("u9"), "n2": Member("u2")}, work, stranger.memory, now=20.0
    )
    assert (back.changes["n2"].given, back.delay) == (connectors("b"), 0)


def test_who_came_meanwhile_gets_the_lost_work_at_the_end_of_the_delay() -> None:
    work = connectors("abcd")
    known = remembering(m=Member("u1", connectors("ab")), n=Member("u2", connectors("cd")))
    lost = assign({"m": Member("u1", connectors("ab"))}, work, known).memory
    members = {"m": Member("u1", connectors("ab")), "x": Member("u9")}
    waiting = assign(members, work, lost, now=10.0)
    end = assign(members, work, waiting.memory, now=300.0)
    assert end.changes == {"m": Change(), "x": Change(given=connectors("cd"))}


def test_what_a_member_did_not_hear_of_is_given_out_again_at_once() -> None:
    known = remembering(m=Member("u1", connectors("a")))
    assert assign({"m": Member("u1")}, connectors("a"), known).changes["m"].given == connectors("a")


def test_nothing_is_taken_for_balance_while_a_member_is_waited_for() -> None:
    work = connectors("abcd")
    known = remembering(m=Member("u1", connectors("abc")), n=Member("u2", connectors("d")))
    outcome = assign({"m": Member("u1", connectors("abc")), "x": Member("u9")}, work, known)
    assert not any(change.revoked for change in outcome.changes.values())


def test_who_returns_to_too_much_work_leaves_some_to_others_at_once() -> None:
    memory = LeaderMemory({"m": Member("u1")}, losses=(Loss("u2", connectors("abcd"), 100.0),))
    outcome = assign({"m": Member("u1"), "n": Member("u2")}, connectors("abcd"), memory)
    assert outcome.changes == {"m": Change(given=connectors("cd")), "n": Change(given=connectors("ab"))}


@pytest.mark.parametrize(("rounds", "wait"), [(1, 0.04), (2, 1.6), (3, 64.0), (4, DELAY), (400, DELAY)])
def test_revoking_rounds_in_a_row_wait_longer_and_longer(rounds: int, wait: float) -> None:
    members, work = {"m": Member("u1", connectors("ab")), "n": Member("u2")}, connectors("ab")
    held = assign(members, work, LeaderMemory(members, revoking_rounds=rounds), now=10.0)
    assert not held.changes["m"].revoked and held.delay == pytest.approx(wait)
    early = assign(members, work, held.memory, now=10.0 + wait / 2)
    assert not early.changes["m"].revoked and early.delay == pytest.approx(wait / 2)
    due = assign(members, work, early.memory, now=10.0 + wait)
    assert due.changes["m"].revoked and due.delay == 0
    assert due.memory.revoking_rounds == rounds + 1


def test_a_round_without_revocation_ends_the_row() -> None:
    members = {"m": Member("u1", connectors("a")), "n": Member("u2", connectors("b"))}
    assert assign(members, connectors("ab"), LeaderMemory(members, revoking_rounds=3)).memory.revoking_rounds == 0


def test_without_a_delay_revocations_are_not_held_back_either() -> None:
    members, work = {"m": Member("u1", connectors("ab")), "n": Member("u2")}, connectors("ab")
    assert assign(members, work, LeaderMemory(members, revoking_rounds=5), delay=0.0).changes["m"].revoked


def test_many_members_and_tasks_are_assigned_quickly() -> None:
    work = tasks("a", *range(2000))
    outcome = assign({f"m{n:02}": Member(f"u{n}") for n in range(20)}, work)
    assert {len(change.given) for change in outcome.changes.values()} == {100}
    assert all(change.revoked == NOTHING for change in outcome.changes.values())
