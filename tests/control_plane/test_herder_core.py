# SPDX-License-Identifier: Apache-2.0
"""The herder's decisions as transcripts: a ``>`` line is an event, the lines under it are what the core wants done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headrace.api.errors import RetriableError
from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_lag import sync_rules
from headrace.herder.core.config_writes import (
    PutConnector,
    PutTargetState,
    PutTaskConfigs,
    PutTaskCount,
    RemoveConnector,
)
from headrace.herder.core.herder_core import step
from headrace.herder.core.herder_state import HerderState, Phase, SyncRules
from headrace.herder.core.local_work import task_configs_errors
from headrace.model.assignment import Assignment, AssignmentError
from headrace.model.health import TaskConfigsError
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from tests.control_plane.conftest import ROUND

MakeStage = Callable[..., Any]
Golden = Callable[[Any], None]


def test_create_to_running(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.say("a connector with one task; nothing was there before, so nothing has to be fenced")
    s.create("c", "a")
    golden(s)


def test_more_tasks_mean_a_round_of_fencing(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.say("the connector now wants two tasks: the old one is stopped, and its producer fenced before they start")
    s.task_configs["c"] = [{"part": "a"}, {"part": "b"}]
    s.happen(events.ReconfigurationRequested("c"))
    s.say("and three, with the task count record held back: no task starts before it (invariant 6)")
    s.hold(actions.Fence)
    s.task_configs["c"] = [{"part": "a"}, {"part": "b"}, {"part": "c"}]
    s.happen(events.ReconfigurationRequested("c"))
    assert not s.state.tasks
    s.say("the round fails, is tried again, and succeeds")
    generation = s.topic.state.task_config_offsets["c"]
    s.happen(events.FencingFailed("c", generation))
    s.happen(events.FencingDue("c"))
    s.happen(events.FencingDone("c", generation))
    golden(s)


def test_newer_task_configs_overtake_a_round_of_fencing(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.lines.clear()
    s.hold(actions.Fence)
    s.task_configs["c"] = [{"part": "x"}, {"part": "y"}]
    s.happen(events.ReconfigurationRequested("c"))
    old = s.topic.state.task_config_offsets["c"]
    s.say("while that round is under way the connector changes its mind again")
    s.task_configs["c"] = [{"part": "z"}]
    s.happen(events.ReconfigurationRequested("c"))
    s.say("the first round ends too late: no task count record may follow the newer configs for its sake")
    s.happen(events.FencingDone("c", old))
    assert "c" in s.topic.state.pending_fencing and not s.state.tasks
    s.happen(events.FencingDone("c", s.topic.state.task_config_offsets["c"]))
    assert "c" not in s.topic.state.pending_fencing
    golden(s)


def test_without_exactly_once_nothing_is_fenced(stage: MakeStage, golden: Golden) -> None:
    s = stage(exactly_once=False)
    s.start()
    s.create("c", "a", "b")
    golden(s)


def test_a_sink_is_never_fenced(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.task_configs["c"] = [{"part": "a"}]
    s.request(PutConnector(1, "c", {"connector.class": "Sink", "name": "c"}, None, allow_replace=False))
    golden(s)


def test_pause_resume_and_changes_while_paused(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.request(PutTargetState(2, "c", TargetState.PAUSED))
    s.say("a new config while paused restarts the connector, but its tasks keep their configs until it is resumed")
    s.task_configs["c"] = [{"part": "new"}]
    config = {"connector.class": "Source", "name": "c", "x": "1"}
    s.request(PutConnector(3, "c", config, None, allow_replace=True))
    s.request(PutTargetState(4, "c", TargetState.STARTED))
    golden(s)


def test_created_paused(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", target=TargetState.PAUSED)
    golden(s)


def test_the_same_config_again_restarts_the_connector_alone(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.request(PutConnector(2, "c", {"connector.class": "Source", "name": "c"}, None, allow_replace=True))
    golden(s)


def test_a_changed_converter_restarts_tasks_of_the_same_configs(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    config = {"connector.class": "Source", "name": "c", "value.converter": "StringConverter"}
    s.request(PutConnector(2, "c", config, None, allow_replace=True))
    golden(s)


def test_delete(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.say("its statuses go only when nothing of it stops any more, or a late status would come after the tombstone")
    s.hold(actions.StopTasks)
    s.request(RemoveConnector(2, "c"))
    s.happen(events.TasksStopped((ConnectorTaskId("c", 0),)))
    golden(s)


def test_the_leader_sweeps_while_nothing_is_created(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.SweepStatuses)
    s.say("a worker that was slow to stop has written a status of a task that is gone")
    s.happen(events.StrayStatusSeen())
    s.say("a new connector waits, so that its first status cannot be taken for the stray one; a pause does not")
    s.create("d", "a", request=2)
    s.request(PutTargetState(3, "c", TargetState.PAUSED))
    s.happen(events.SweepEnded())
    s.say("a sweep that fails is tried again")
    s.happen(events.StrayStatusSeen())
    s.happen(events.SweepEnded(failed=True))
    s.happen(events.StrayStatusSeen())
    s.happen(events.SweepEnded())
    golden(s)


def test_a_sweep_waits_for_a_creation(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.lines.clear()
    s.hold(actions.Write)
    s.create("c", "a")
    [write] = s.state.leadership.writing
    s.happen(events.StrayStatusSeen())
    s.release(actions.Write)
    s.happen(s.topic.write(write))
    s.happen(events.WriteDone(write))
    golden(s)


def test_a_follower_sweeps_when_it_becomes_the_leader(stage: MakeStage, golden: Golden) -> None:
    s = stage(leader="other")
    s.start()
    s.happen(events.StrayStatusSeen())
    s.say("the leader sees it too, and may be gone before it acts")
    s.leader = "me"
    s.happen(s.assign())
    golden(s)


def test_requests_that_cannot_be(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.say("before there is a session requests wait")
    s.create("c", "a", request=1)
    s.start()
    s.say("two creations at once: the second one meets the first")
    s.create("c", "a", request=2)
    s.request(RemoveConnector(3, "x"))
    s.request(PutTargetState(4, "x", TargetState.PAUSED))
    golden(s)


def test_two_creations_in_one_moment(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.lines.clear()
    s.hold(actions.Write)
    s.create("c", "a", request=1)
    s.create("c", "a", request=2)
    s.say("the second waits for the first one's write, and then meets its connector")
    [write] = s.state.leadership.writing
    s.release(actions.Write)
    s.happen(s.topic.write(write))
    s.happen(events.WriteDone(write))
    golden(s)


def test_a_failed_connector_and_a_failed_round_of_task_configs(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.lines.clear()
    s.hold(actions.StartConnector, actions.ComputeTaskConfigs)
    s.create("c", "a")
    s.happen(events.ConnectorFailed("c"))
    s.say("it stays FAILED until it gets a new config")
    s.request(PutConnector(2, "c", {"connector.class": "Source", "name": "c", "x": "1"}, None, allow_replace=True))
    s.happen(events.ConnectorStarted("c"))
    s.say("task_configs raises a RetriableError, twice: longer and longer waits")
    s.happen(events.TaskConfigsFailed("c", RetriableError("no database"), at=10.0))
    s.happen(events.ReconfigurationRequested("c"))
    s.happen(events.TaskConfigsFailed("c", RetriableError(""), at=12.0))
    assert task_configs_errors(s.state, 12.125) == {
        "c": TaskConfigsError("RetriableError", "no reason was given", "computing", 125, 2125, 2, 375)
    }
    s.happen(events.ReconfigurationRequested("c"))
    assert task_configs_errors(s.state, 13.0)["c"].next_attempt == 0
    s.happen(events.TaskConfigsComputed("c", [{"part": "a"}]))
    assert task_configs_errors(s.state, 14.0) == {}
    golden(s)


def test_a_lost_session_stops_everything_until_it_is_regained(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.happen(events.SessionLost())
    assert not s.state.tasks and not s.state.connectors
    s.say("requests wait for the next session")
    s.request(PutTargetState(2, "c", TargetState.PAUSED))
    s.happen(s.assign())
    golden(s)


def test_a_new_session_waits_for_what_still_stops(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.StopTasks, actions.StopConnector)
    s.happen(events.SessionLost())
    s.happen(s.assign())
    s.happen(events.ConnectorStopped("c"))
    s.happen(events.TasksStopped((ConnectorTaskId("c", 0),)))
    golden(s)


def test_a_fenced_leader_claims_again_and_repeats_the_write(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.lines.clear()
    s.hold(actions.Write)
    s.create("c", "a")
    [write] = s.state.leadership.writing
    s.happen(events.WriteFailed(write, RuntimeError("fenced"), fenced=True))
    s.release(actions.Write)
    s.happen(events.ClaimDue())
    golden(s)


def writing_two(stage: MakeStage) -> Any:
    """A leader that creates d and pauses c: both writes are being made."""
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.Write)
    s.create("d", "a", request=2)
    s.request(PutTargetState(3, "c", TargetState.PAUSED))
    return s


def test_writes_of_several_connectors_at_once(stage: MakeStage, golden: Golden) -> None:
    s = writing_two(stage)
    s.say("a second write of a connector waits for its first, and is judged after it")
    s.create("d", "a", request=4)
    s.request(PutTargetState(5, "c", TargetState.STARTED))
    create, pause = s.state.leadership.writing
    s.say("they share a transaction: all its records are read before either is done")
    for event in (s.topic.write(create), s.topic.write(pause), events.WriteDone(pause), events.WriteDone(create)):
        s.happen(event)
    golden(s)


def test_writes_that_fail_together_are_followed_by_one_claim(stage: MakeStage, golden: Golden) -> None:
    s = writing_two(stage)
    s.request(RemoveConnector(4, "c"))
    create, pause = s.state.leadership.writing
    s.say("the first may not have been written, the second was not")
    s.happen(events.WriteFailed(create, RuntimeError("no brokers")))
    s.happen(events.WriteFailed(pause, RuntimeError("no brokers"), fenced=True))
    s.release(actions.Write)
    s.happen(events.ClaimDue())
    golden(s)


def test_a_few_writes_at_once(stage: MakeStage) -> None:
    s = stage()
    s.start()
    s.hold(actions.Write)
    for number in range(70):
        s.create(f"c{number:02}", request=number)
    assert [write.request for write in s.state.leadership.writing] == list(range(64))
    first = s.state.leadership.writing[0]
    s.happen(s.topic.write(first))
    s.happen(events.WriteDone(first))
    assert [write.request for write in s.state.leadership.writing] == list(range(1, 65))


def test_write_errors_go_to_who_asked_or_are_tried_again(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.Write)
    s.request(PutTargetState(2, "c", TargetState.PAUSED))
    s.happen(events.WriteFailed(s.state.leadership.writing[0], RuntimeError("no brokers")))
    s.happen(events.ClaimDue())
    s.task_configs["c"] = [{"part": "b"}]
    s.happen(events.ReconfigurationRequested("c"))
    s.happen(events.WriteFailed(s.state.leadership.writing[0], RuntimeError("no brokers")))
    s.release(actions.Write)
    s.happen(events.ClaimDue())
    s.happen(events.ReconfigurationRequested("c"))
    golden(s)


def test_a_claim_that_fails_is_tried_again(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.hold(actions.ClaimWrites)
    s.start()
    s.create("c", "a")
    s.happen(events.ClaimFailed())
    s.release(actions.ClaimWrites)
    s.happen(events.ClaimDue())
    golden(s)


def test_a_follower_refuses_writes_and_runs_its_share(stage: MakeStage, golden: Golden) -> None:
    s = stage(leader="other")
    s.hold(actions.AskForFencing)
    s.start()
    s.create("c", "a", request=1)
    s.say("the leader makes a connector, whose task is ours")
    s.hold(actions.Rejoin)
    s.happen(s.topic.write(PutConnector(7, "c", {"connector.class": "Source"}, None, False)))
    s.happen(s.assign(connectors=set(), tasks=set()))
    s.happen(s.topic.write(PutTaskConfigs("c", [{"part": "a"}])))
    s.happen(s.assign(connectors=set()))
    s.say("it starts when the leader has written the task count record, whoever asked for that")
    s.happen(s.topic.write(PutTaskCount("c", 1, 1)))
    golden(s)


def test_leadership_comes_and_goes(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.leader = "other"
    s.happen(s.assign())
    s.leader = "me"
    s.happen(s.assign())
    golden(s)


def test_an_assignment_from_the_future_waits_for_its_configs(stage: MakeStage, golden: Golden) -> None:
    s = stage(leader="other")
    s.start()
    s.lines.clear()
    s.hold(actions.CatchUp, actions.ComputeTaskConfigs)
    s.topic.write(PutConnector(7, "c", {"connector.class": "Source"}, None, False))
    s.happen(s.assign())
    assert not s.state.connectors
    s.happen(events.ConfigUpdated(s.topic.state, ("c",)))
    s.happen(events.CaughtUp(rejoin=False))
    golden(s)


def test_a_config_mismatch_reads_on_and_joins_again(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.lines.clear()
    s.happen(events.Assigned(9, "me", Assignment("me", "u", 18 * ROUND, error=AssignmentError.CONFIG_MISMATCH)))
    golden(s)


def test_a_lag_that_ends_in_time_is_forgotten(stage: MakeStage, golden: Golden) -> None:
    s = stage(leader="other")
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.CatchUp, actions.ComputeTaskConfigs)
    s.topic.write(PutConnector(7, "d", {"connector.class": "Source"}, None, False))
    s.happen(s.assign())
    s.happen(events.ConfigUpdated(s.topic.state, ("d",)))
    s.happen(events.CaughtUp(rejoin=False))
    s.happen(events.SyncDue(0))
    assert s.state.membership is not None and s.state.connectors
    golden(s)


def test_a_leader_that_cannot_catch_up_steps_out(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.CatchUp, actions.StopTasks)
    s.happen(
        events.Assigned(9, "me", Assignment("me", "u", 18 * ROUND, error=AssignmentError.CONFIG_MISMATCH), number=5)
    )
    s.say("a timer of a former lag means nothing")
    s.happen(events.SyncDue(4))
    s.happen(events.SyncDue(5))
    s.say("an assignment that comes while it gives up is not begun with")
    s.happen(replace(s.assign(), number=6))
    s.say("it leaves when the task has stopped, and reads on outside")
    s.happen(events.TasksStopped(tuple(s.state.tasks)))
    s.happen(events.SessionLost(7))
    golden(s)


@pytest.mark.parametrize(
    ("eager", "timeout", "backoff", "delay", "rules"),
    [
        (False, 3.0, 300.0, 300.0, SyncRules(3.0, 86.5, 6.0)),
        (True, 3.0, 300.0, 300.0, SyncRules(3.0, 3.0, 300.0)),
        (False, 3.0, 2.0, 300.0, SyncRules(3.0, 86.5, 2.0)),
        (False, 1.0, 300.0, 0.0, SyncRules(1.0, 6.0, 0.0)),
    ],
)
def test_patience_with_a_lag(eager: bool, timeout: float, backoff: float, delay: float, rules: SyncRules) -> None:
    assert sync_rules(timeout, backoff, delay, eager=eager) == rules


def test_stop(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.StopConnector)
    s.happen(events.StopRequested())
    s.happen(events.ConnectorStopped("c"))
    assert s.state.phase is Phase.STOPPED
    golden(s)


def test_stop_before_kafka_was_reached() -> None:
    state, done = step(HerderState(exactly_once=True), events.StopRequested())
    assert state.phase is Phase.STOPPED and done == [actions.Leave()]
    state, done = step(state, events.StoresStarted(state.config))
    assert state.phase is Phase.STOPPED and done == []


def test_new_task_configs_start_only_under_an_assignment_that_knows_them(stage: MakeStage, golden: Golden) -> None:
    s = stage(exactly_once=False)
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.Rejoin)
    s.task_configs["c"] = [{"part": "b"}]
    s.happen(events.ReconfigurationRequested("c"))
    assert not s.state.tasks
    s.happen(s.assign())
    assert s.state.tasks
    golden(s)


def test_a_task_count_record_never_follows_configs_that_it_does_not_count(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.lines.clear()
    s.hold(actions.Fence, actions.Write)
    s.task_configs["c"] = [{"part": "x"}, {"part": "y"}]
    s.happen(events.ReconfigurationRequested("c"))
    [write] = s.state.leadership.writing
    s.happen(s.topic.write(write))
    s.happen(events.WriteDone(write))
    old = s.topic.state.task_config_offsets["c"]
    s.say("newer configs are being written when the round ends: its record stands behind them in the queue")
    s.task_configs["c"] = [{"part": "z"}]
    s.happen(events.ReconfigurationRequested("c"))
    s.happen(events.FencingDone("c", old))
    [write] = s.state.leadership.writing
    s.happen(s.topic.write(write))
    s.happen(events.WriteDone(write))
    assert s.state.leadership.writing == ()
    golden(s)
