# SPDX-License-Identifier: Apache-2.0
"""Who gets what: completeness, stickiness and balance."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from headrace.distributed.assignors import Change, Share, all_work, assign
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId


def config(tasks: Mapping[str, int]) -> ClusterConfigState:
    return ClusterConfigState(connector_configs={name: {} for name in tasks}, task_counts=tasks)


def after(owned: Mapping[str, Share], changes: Mapping[str, Change]) -> dict[str, Share]:
    return {member: (share - changes[member].revoked) | changes[member].given for member, share in owned.items()}


def task(name: str, number: int) -> ConnectorTaskId:
    return ConnectorTaskId(name, number)


def test_a_group_of_one_gets_everything() -> None:
    work = config({"a": 2, "b": 1})
    changes = assign({"m": Share()}, work)
    assert changes == {"m": Change(given=all_work(work))}


def test_what_is_owned_stays_and_what_was_deleted_goes() -> None:
    owned = Share(frozenset({"a", "gone"}), frozenset({task("a", 0), task("a", 1), task("gone", 0)}))
    changes = assign({"m": owned}, config({"a": 1}))
    assert changes["m"].given == Share()
    assert changes["m"].revoked == Share(frozenset({"gone"}), frozenset({task("a", 1), task("gone", 0)}))


def test_what_two_members_claim_stays_with_one() -> None:
    claimed = Share(frozenset({"a"}), frozenset({task("a", 0)}))
    changes = assign({"m": claimed, "n": claimed}, config({"a": 1}))
    assert [change.revoked for change in changes.values()] == [Share(), claimed]
    assert all(change.given == Share() for change in changes.values())


def test_new_work_goes_to_the_least_loaded() -> None:
    busy = Share(frozenset({"a"}), frozenset(task("a", n) for n in range(4)))
    changes = assign({"busy": busy, "idle": Share()}, config({"a": 4, "b": 3}))
    assert changes["busy"] == Change()
    assert changes["idle"].given == Share(frozenset({"b"}), frozenset(task("b", n) for n in range(3)))


def test_tasks_of_one_connector_are_spread() -> None:
    owned = {"m": Share(), "n": Share(), "o": Share()}
    shares = after(owned, assign(owned, config({"a": 3, "b": 3, "c": 3})))
    for share in shares.values():
        assert sorted(task.connector for task in share.tasks) == ["a", "b", "c"]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 5)),
    st.dictionaries(
        st.sampled_from(["m1", "m2", "m3"]),
        st.builds(
            Share,
            st.frozensets(st.sampled_from("abcdef")),
            st.frozensets(st.builds(ConnectorTaskId, st.sampled_from("abcdef"), st.integers(0, 5))),
        ),
        min_size=1,
    ),
)
def test_everything_runs_exactly_once(tasks: dict[str, int], owned: dict[str, Share]) -> None:
    work = config(tasks)
    shares = list(after(owned, assign(owned, work)).values())
    together = Share()
    for share in shares:
        together = together | share
    assert together == all_work(work)
    assert sum(len(share) for share in shares) == len(together)
