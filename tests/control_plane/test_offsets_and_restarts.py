# SPDX-License-Identifier: Apache-2.0
"""Stopping, changing offsets (KIP-875) and restarting (KIP-745), as transcripts of the herder's decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.api.errors import RetriableError
from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import (
    OffsetsRequest,
    PutConnector,
    PutRestart,
    PutTargetState,
    PutTaskConfigs,
    PutTaskRestart,
    RemoveConnector,
)
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import OffsetsChange, OffsetsChanged
from headrace.model.state import TargetState

MakeStage = Callable[..., Any]
Golden = Callable[[Any], None]
STOPPED, STARTED, PAUSED = TargetState.STOPPED, TargetState.STARTED, TargetState.PAUSED


def stopped(stage: MakeStage, *tasks: str, **how: Any) -> Any:
    """A stage with a connector c that was started with these tasks and then stopped."""
    s = stage(**how)
    s.start()
    s.create("c", *tasks)
    s.request(PutTargetState(2, "c", STOPPED))
    s.lines.clear()
    return s


# ---- stop


def test_stop_and_resume(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.lines.clear()
    s.say("all tasks end, for the task set is empty; the connector stays")
    s.request(PutTargetState(2, "c", STOPPED))
    assert not s.state.tasks and "c" in s.state.connectors
    s.say("it makes no task configs, whoever asks")
    s.happen(events.ReconfigurationRequested("c"))
    s.say("resumed, it does: two producers may still be there, so they are fenced first")
    s.request(PutTargetState(3, "c", STARTED))
    golden(s)


def test_a_stopped_connector_is_paused(stage: MakeStage, golden: Golden) -> None:
    s = stopped(stage, "a")
    s.request(PutTargetState(3, "c", PAUSED))
    golden(s)


def test_task_configs_that_were_on_their_way_come_too_late_for_a_stop(stage: MakeStage) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.hold(actions.ComputeTaskConfigs)
    s.happen(events.ReconfigurationRequested("c"))
    s.request(PutTargetState(2, "c", STOPPED))
    s.happen(events.TaskConfigsComputed("c", [{"part": "z"}]))
    assert not s.topic.state.tasks("c") and not s.state.leadership.queue


def test_a_failed_connector_is_stopped_and_resumed(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.hold(actions.StartConnector)
    s.create("c", "a")
    s.happen(events.ConnectorFailed("c"))
    s.lines.clear()
    s.request(PutTargetState(2, "c", STOPPED))
    s.say("it is as good as new now")
    s.request(PutTargetState(3, "c", STARTED))
    assert s.state.tasks
    golden(s)


def test_a_start_that_fails_after_stop_and_resume_were_asked_for(stage: MakeStage) -> None:
    """The worker does one after the other: it fails, is stopped, and started again."""
    s = stage()
    s.start()
    s.hold(actions.StartConnector, actions.SetConnectorTarget)
    s.create("c", "a")
    s.request(PutTargetState(2, "c", STOPPED))
    s.request(PutTargetState(3, "c", STARTED))
    s.happen(events.ConnectorFailed("c"))
    s.happen(events.ConnectorStarted("c"))
    s.happen(events.ConnectorStarted("c"))
    assert ConnectorTaskId("c", 0) in s.state.tasks


def test_created_stopped(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.lines.clear()
    s.create("c", "a", target=STOPPED)
    s.say("its offsets can be changed before it has ever run: there is nothing to fence")
    s.change_offsets("c", request=2)
    s.request(PutTargetState(3, "c", STARTED))
    golden(s)


# ---- offsets


def test_offsets_are_changed_after_a_round_of_fencing(stage: MakeStage, golden: Golden) -> None:
    s = stopped(stage, "a", "b")
    s.change_offsets("c", request=3)
    s.say("once is enough: a second change follows the task count record of the first")
    s.change_offsets("c", request=4)
    s.say("resumed, it has no former tasks to fence")
    s.request(PutTargetState(5, "c", STARTED))
    golden(s)


def test_offsets_are_not_changed_while_the_connector_is_not_stopped(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.change_offsets("c", request=2)
    s.request(PutTargetState(3, "c", PAUSED))
    s.change_offsets("c", request=4)
    s.change_offsets("none", request=5)
    golden(s)


def test_offsets_are_not_changed_while_work_moves(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.Rejoin, actions.StopTasks)
    s.request(PutTargetState(2, "c", STOPPED))
    s.change_offsets("c", request=3)
    s.say("the rebalance is over, but a task of it is still here")
    s.happen(s.assign())
    s.change_offsets("c", request=4)
    s.happen(events.TasksStopped((ConnectorTaskId("c", 0),)))
    s.change_offsets("c", request=5)
    golden(s)


def test_a_resume_waits_for_a_change_of_offsets(stage: MakeStage, golden: Golden) -> None:
    s = stopped(stage, "a", exactly_once=False)
    s.hold(actions.ChangeOffsets)
    s.change_offsets("c", request=3)
    s.request(PutTargetState(4, "c", STARTED))
    s.say("another connector is not held up, and a second change takes its turn")
    s.create("d", "a", request=5)
    s.change_offsets("c", request=6)
    s.happen(events.OffsetsEnded(OffsetsRequest(3, "c", OffsetsChange(None)), error=RuntimeError("no brokers")))
    s.happen(events.OffsetsEnded(OffsetsRequest(6, "c", OffsetsChange(None)), OffsetsChanged("done", ())))
    assert s.topic.state.target_state("c") is STARTED
    golden(s)


def test_a_round_of_fencing_that_fails_fails_the_change(stage: MakeStage, golden: Golden) -> None:
    s = stopped(stage, "a", "b")
    s.hold(actions.Fence)
    s.change_offsets("c", request=3)
    generation = s.topic.state.task_config_offsets["c"]
    s.happen(events.FencingFailed("c", generation, RetriableError("no brokers")))
    assert not s.state.leadership.offset_requests
    s.happen(events.FencingDue("c"))
    s.say("no request waits for it any more: it is not tried again until it is asked for")
    s.release(actions.Fence)
    s.change_offsets("c", request=4)
    golden(s)


def test_a_preparing_leader_fences_before_offsets_are_changed(stage: MakeStage, golden: Golden) -> None:
    """A task count record shows that followers have exactly-once switched on, or had: their tasks may write still."""
    s = stage(exactly_once=False)
    s.start()
    s.create("c", "a", "b")
    s.happen(events.FencingRequested(7, "c"))
    s.request(PutTargetState(2, "c", STOPPED))
    s.lines.clear()
    s.change_offsets("c", request=3)
    s.say("once is enough")
    s.change_offsets("c", request=4)
    golden(s)


def test_a_preparing_leader_fences_before_it_deletes_removed_offsets(stage: MakeStage, golden: Golden) -> None:
    s = stage(exactly_once=False)
    s.start()
    s.create("c", "a", "b")
    s.happen(events.FencingRequested(7, "c"))
    s.lines.clear()
    s.request(RemoveConnector(2, "c", with_offsets=True))
    golden(s)


def test_created_again_as_stopped_its_deleted_tasks_are_fenced(stage: MakeStage, golden: Golden) -> None:
    """It has no task configs, and so no generation, yet tasks of the deleted connector may write still."""
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.request(RemoveConnector(2, "c"))
    s.lines.clear()
    s.create("c", "a", request=3, target=STOPPED)
    s.change_offsets("c", request=4)
    s.say("once is enough, also for the tasks that start at last")
    s.change_offsets("c", request=5)
    s.request(PutTargetState(6, "c", STARTED))
    golden(s)


def test_a_dry_run_fences_no_producer(stage: MakeStage, golden: Golden) -> None:
    s = stopped(stage, "a", "b")
    s.change_offsets("c", request=3, dry_run=True)
    golden(s)


def test_a_sink_has_no_producers_to_fence(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.task_configs["c"] = [{"part": "a"}]
    s.request(PutConnector(1, "c", {"connector.class": "Sink", "name": "c"}, None, allow_replace=False))
    s.request(PutTargetState(2, "c", STOPPED))
    s.lines.clear()
    s.change_offsets("c", request=3)
    golden(s)


def test_a_follower_changes_no_offsets(stage: MakeStage, golden: Golden) -> None:
    s = stage(leader="other")
    s.start()
    s.lines.clear()
    s.change_offsets("c", request=3)
    golden(s)


# ---- removal with offsets


def test_removed_with_its_offsets(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.lines.clear()
    s.hold(actions.StopTasks, actions.DeleteRemovedOffsets)
    s.request(RemoveConnector(2, "c", with_offsets=True))
    s.say("the offsets go when the tasks have ended")
    s.happen(events.TasksStopped((ConnectorTaskId("c", 0), ConnectorTaskId("c", 1))))
    s.say("a new connector of that name has to wait for that, another one has not")
    s.create("c", "a", request=3)
    s.create("d", "a", request=4)
    s.say("at first it cannot be done")
    s.happen(events.RemovedOffsetsStay("c"))
    s.happen(events.RemovedOffsetsDue("c"))
    s.happen(events.RemovedOffsetsGone("c"))
    assert s.topic.state.contains("c") and not s.topic.state.removed_offsets
    golden(s)


def test_a_new_leader_deletes_what_the_old_one_left(stage: MakeStage, golden: Golden) -> None:
    s = stage(leader="other")
    s.start()
    s.hold(actions.Rejoin)
    s.happen(s.topic.write(PutConnector(7, "c", {"connector.class": "Source"}, None, False)))
    s.happen(s.topic.write(PutTaskConfigs("c", [{"part": "a"}])))
    s.happen(s.topic.write(RemoveConnector(8, "c", with_offsets=True)))
    s.lines.clear()
    s.leader = "me"
    s.happen(s.assign())
    assert not s.topic.state.removed_offsets
    golden(s)


# ---- restart


def test_restart_of_a_connector_alone(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.request(PutRestart(2, "c", only_failed=False, include_tasks=False))
    golden(s)


def test_restart_of_a_connector_and_its_tasks(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.lines.clear()
    s.request(PutRestart(2, "c", only_failed=False, include_tasks=True))
    assert not s.state.restarting
    golden(s)


def test_restart_of_a_task(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.lines.clear()
    s.request(PutTaskRestart(2, "c", 1))
    golden(s)


def test_restart_of_tasks_that_are_not_there(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.lines.clear()
    s.say("of a connector that is none; of a task that never was; of one that there is no more")
    s.request(PutTaskRestart(2, "x", 0))
    s.request(PutTaskRestart(3, "c", 7))
    s.task_configs["c"] = [{"part": "a"}]
    s.happen(events.ReconfigurationRequested("c"))
    s.happen(events.ConfigUpdated(s.topic.state))
    s.request(PutTaskRestart(4, "c", 1))
    golden(s)


def test_restart_of_a_stopped_connector(stage: MakeStage, golden: Golden) -> None:
    s = stopped(stage, "a")
    s.request(PutRestart(3, "c", only_failed=False, include_tasks=True))
    golden(s)


def test_a_restart_leaves_alone_what_runs_elsewhere(stage: MakeStage) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.happen(s.assign(connectors=set(), tasks={ConnectorTaskId("c", 1)}))
    s.lines.clear()
    s.happen(events.RestartPlanned(("c",), (ConnectorTaskId("c", 0), ConnectorTaskId("c", 1))))
    started = [line.strip() for line in s.lines if "Start" in line]
    assert len(started) == 1 and "c-1" in started[0]
    assert not s.state.restarting


# ---- patches


def test_a_patch_made_from_an_older_config_is_overtaken(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    base = s.topic.state.connector_config("c")
    s.lines.clear()
    first, second = ({**base, "x": text} for text in "12")
    s.request(PutConnector(2, "c", first, None, allow_replace=True, base=base))
    s.request(PutConnector(3, "c", second, None, allow_replace=True, base=base))
    s.request(PutConnector(4, "c", second, None, allow_replace=True, base=first))
    s.request(PutConnector(5, "none", second, None, allow_replace=True, base=first))
    assert s.topic.state.connector_config("c") == second
    golden(s)
