# SPDX-License-Identifier: Apache-2.0
"""Why a task that was started may not go on, in words (invariants 4 and 6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.herder.core.herder_state import HerderState, Membership, Phase, TaskRun
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState

ID = ConnectorTaskId("c", 0)
CONFIG = ClusterConfigState(
    offset=9,
    connector_configs={"c": {"connector.class": "Source"}},
    task_counts={"c": 1},
    task_configs={ID: {}},
    task_config_offsets={"c": 5},
)
RUN = TaskRun(5, TargetState.STARTED)
MEMBERSHIP = Membership(1, "me", "me", "http://me/", 9, frozenset(), frozenset({ID}))


def state(run: TaskRun | None = RUN, membership: Membership | None = MEMBERSHIP) -> HerderState:
    return HerderState(
        exactly_once=True,
        phase=Phase.ACTIVE,
        config=CONFIG,
        membership=membership,
        tasks={} if run is None else {ID: run},
        types={"Source": "source"},
    )


def test_a_task_that_is_still_ours_may_go_on() -> None:
    assert state().refusal(ID, CONFIG) is None


@pytest.mark.parametrize(
    ("run", "membership"),
    [(None, MEMBERSHIP), (RUN, None), (RUN, replace(MEMBERSHIP, tasks=frozenset()))],
    ids=["unknown", "no session", "given to another worker"],
)
def test_a_task_of_others(run: TaskRun | None, membership: Membership | None) -> None:
    assert state(run, membership).refusal(ID, CONFIG) == "it is not assigned to this worker any more"


@pytest.mark.parametrize("run", [replace(RUN, stopping=True), replace(RUN, stale=True)])
def test_a_task_that_is_about_to_end(run: TaskRun) -> None:
    assert state(run).refusal(ID, CONFIG) == "it is being stopped"


def test_newer_task_configs() -> None:
    newer = replace(CONFIG, task_config_offsets={"c": 8})
    assert "newer task configs, at offset 8 and not 5" in (state().refusal(ID, newer) or "")
    gone = replace(CONFIG, task_config_offsets={})
    assert state().refusal(ID, gone) == "its connector has been deleted"


def test_no_round_of_fencing() -> None:
    pending = replace(CONFIG, pending_fencing=frozenset({"c"}))
    assert "no task count record follows its task configs at offset 5" in (state().refusal(ID, pending) or "")
