# SPDX-License-Identifier: Apache-2.0
"""A reconciler is skipped only while it would find nothing to do again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import PutTargetState
from headrace.herder.core.herder_actions import Rejoin, Transition
from headrace.herder.core.herder_state import HerderState
from headrace.herder.core.settled import unless_settled
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from tests.control_plane.conftest import Stage


class Reconciler:
    """It has something to do while the worker is rejoining, which it ends; counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.call = unless_settled(lambda state: (state.types, state.rejoining))(self)

    def __call__(self, state: HerderState) -> Transition:
        self.calls += 1
        return (replace(state, rejoining=False), [Rejoin()]) if state.rejoining else (state, [])


def test_it_is_called_again_for_other_knowledge_alone() -> None:
    reconciler = Reconciler()
    state, done = reconciler.call(HerderState(exactly_once=True))
    state, more = reconciler.call(replace(state, joined=True))
    assert (reconciler.calls, done, more) == (1, [], [])

    state, done = reconciler.call(replace(state, rejoining=True))
    assert (reconciler.calls, done) == (2, [Rejoin()])
    state, done = reconciler.call(state)
    assert (reconciler.calls, done) == (2, []), "as before it had something to do"
    state, done = reconciler.call(replace(state, types={}))
    assert (reconciler.calls, done) == (3, [])


def test_what_it_has_just_changed_is_not_settled() -> None:
    reconciler = Reconciler()
    state, done = reconciler.call(HerderState(exactly_once=True, rejoining=True))
    state, more = reconciler.call(state)
    assert (reconciler.calls, done, more) == (2, [Rejoin()], [])


def test_a_type_that_is_found_late_starts_the_tasks_of_a_sink(stage: Callable[[], Stage]) -> None:
    s = stage()
    s.hold(actions.FindType)
    s.start()
    s.create("c", "a")
    assert not s.state.tasks, "a source's would wait for a round of fencing"
    s.happen(events.HealthAsked(7))
    s.happen(events.TypeFound("Source", "sink"))
    assert list(s.state.tasks) == [ConnectorTaskId("c", 0)]


def test_a_pause_is_noticed_by_the_config_alone(stage: Callable[[], Stage]) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.happen(events.HealthAsked(7))
    s.lines.clear()
    s.request(PutTargetState(8, "c", TargetState.PAUSED))
    done = [line.strip() for line in s.lines if line.startswith("    Set")]
    assert done == ["SetConnectorTarget(name=c, target=PAUSED)", "SetTaskTarget(id=c-0, target=PAUSED)"]
