# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import pairwise

from faults.plan import BOUNDARIES, Kind, plan, stretched


def test_the_same_seed_gives_the_same_plan() -> None:
    assert plan(7, 600) == plan(7, 600)
    assert plan(7, 600) != plan(8, 600)


def test_a_longer_run_begins_as_a_shorter_one() -> None:
    short, long = plan(3, 60), plan(3, 600)
    assert long.faults[: len(short.faults)] == short.faults


def test_faults_come_in_time_and_order() -> None:
    faults = plan(11, 300).faults
    assert faults[0].at > 0 and faults[-1].at < 300
    assert all(one.at < other.at for one, other in pairwise(faults))
    assert all(0 <= fault.length < 1 for fault in faults)


def test_every_kind_comes_before_any_comes_again_and_again() -> None:
    for seed in range(20):
        kinds = [fault.kind for fault in plan(seed, 300).faults]
        assert set(kinds[:30]) == set(Kind)


def test_only_the_kinds_asked_for_come() -> None:
    kinds = (Kind.KILL_TASK, Kind.CUT)
    assert {fault.kind for fault in plan(1, 120, kinds).faults} == set(kinds)


def test_seeds_try_all_boundaries() -> None:
    assert {plan(seed, 1).boundary for seed in range(3)} == set(BOUNDARIES)


def test_a_stretched_plan_has_the_same_faults_later() -> None:
    once, thrice = plan(5, 60), stretched(plan(5, 60), 3)
    assert [(fault.kind, 3 * fault.at, fault.length) for fault in once.faults] == [
        (fault.kind, fault.at, fault.length) for fault in thrice.faults
    ]
