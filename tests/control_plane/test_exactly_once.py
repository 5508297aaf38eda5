# SPDX-License-Identifier: Apache-2.0
"""Rounds of zombie fencing as transcripts: who asks, what a failure means, and groups in the middle of an upgrade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.api.errors import ConnectError, RetriableError
from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import PutConnector, PutTaskConfigs, PutTaskCount
from headrace.model.ids import ConnectorTaskId

MakeStage = Callable[..., Any]
Golden = Callable[[Any], None]
C0, C1 = ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)
TRACE = "Traceback ...\nAuthorizationError: not allowed"


def follower(stage: MakeStage, *tasks: str) -> Any:
    """A follower that was just assigned all tasks of connector c, which have no task count record."""
    s = stage(leader="other")
    s.hold(actions.AskForFencing, actions.StartConnector)
    s.start()
    s.topic.write(PutConnector(7, "c", {"connector.class": "Source"}, None, False))
    s.happen(s.topic.write(PutTaskConfigs("c", [{"part": part} for part in tasks])))
    return s


def generation(s: Any) -> int:
    return int(s.topic.state.task_config_offsets["c"])


# ---- what a follower asks of the leader


def test_a_follower_asks_until_it_has_an_answer(stage: MakeStage, golden: Golden) -> None:
    s = follower(stage, "a", "b")
    s.say("the leader does not answer, or says that another one leads")
    s.happen(events.FencingAnswered("c", generation(s), RetriableError("no answer")))
    s.happen(events.FencingAskDue("c"))
    s.say("there is another leader, which is asked without waiting for the former")
    s.leader = "third"
    s.happen(s.assign())
    s.say("it has done the round before, or did it for another worker")
    s.happen(events.ConfigUpdated(s.topic.write(PutTaskCount("c", generation(s), 2)).config))
    s.happen(events.FencingAnswered("c", generation(s)))
    assert set(s.state.tasks) == {C0, C1} and not s.state.fencing_asked
    golden(s)


def test_an_answer_without_a_record_is_not_believed(stage: MakeStage) -> None:
    """Step 3 of the start of a task: the config topic's word counts (invariant 6)."""
    s = follower(stage, "a")
    s.happen(events.FencingAnswered("c", generation(s)))
    assert not s.state.tasks and "Later(delay=1.0, event=FencingAskDue(connector=c))" in s.lines[-1]
    s.lines.clear()
    s.happen(events.FencingAskDue("c"))
    assert "AskForFencing" in s.lines[-1]


def test_newer_task_configs_are_asked_for_again(stage: MakeStage, golden: Golden) -> None:
    s = follower(stage, "a", "b")
    first = generation(s)
    s.say("the connector is reconfigured while the leader is at the first round")
    s.happen(s.topic.write(PutTaskConfigs("c", [{"part": "x"}])))
    s.say("the answer comes too late to mean anything")
    s.happen(events.FencingAnswered("c", first, ConnectError("failed"), TRACE))
    assert not s.state.tasks
    s.release(actions.AskForFencing)
    s.happen(events.FencingAnswered("c", generation(s), RetriableError("no answer")))
    s.happen(events.FencingAskDue("c"))
    assert set(s.state.tasks) == {C0}
    golden(s)


def test_a_round_that_failed_for_good_fails_the_tasks(stage: MakeStage, golden: Golden) -> None:
    s = follower(stage, "a", "b")
    s.happen(events.FencingAnswered("c", generation(s), ConnectError("no"), TRACE))
    s.say("no worker asks again, whatever else happens")
    s.happen(s.assign())
    s.say("until one of them is restarted")
    s.happen(events.RestartPlanned((), (C0,)))
    s.happen(s.topic.write(PutTaskCount("c", generation(s), 2)))
    s.happen(events.FencingAnswered("c", generation(s)))
    s.say("and then the other, for which no round is needed any more")
    s.happen(events.RestartPlanned((), (C1,)))
    golden(s)


def test_former_tasks_end_before_the_leader_is_asked(stage: MakeStage, golden: Golden) -> None:
    s = follower(stage, "a")
    s.happen(s.topic.write(PutTaskCount("c", generation(s), 1)))
    assert set(s.state.tasks) == {C0}
    s.lines.clear()
    s.hold(actions.StopTasks)
    s.happen(s.topic.write(PutTaskConfigs("c", [{"part": "x"}, {"part": "y"}])))
    s.say("they are gone")
    s.happen(events.TasksStopped((C0,)))
    golden(s)


# ---- the leader's rounds


def test_a_leaders_round_that_failed_for_good(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.hold(actions.Fence, actions.Rejoin)
    s.lines.clear()
    s.task_configs["c"] = [{"part": "x"}, {"part": "y"}]
    s.happen(events.ReconfigurationRequested("c"))
    s.say("one of the two tasks is here, the other is a follower's")
    s.happen(s.assign(tasks={C0}))
    s.happen(events.FencingRequested(9, "c"))
    s.happen(events.FencingFailed("c", generation(s), ConnectError("not allowed"), TRACE))
    s.say("the follower's task is restarted, then this one")
    s.release(actions.Fence)
    s.happen(events.FencingRequested(10, "c"))
    s.happen(events.RestartPlanned((), (C0,)))
    golden(s)


def test_a_failure_that_may_pass_is_tried_again(stage: MakeStage) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.hold(actions.Fence)
    s.happen(s.topic.write(PutTaskConfigs("c", [{"part": "x"}, {"part": "y"}])))
    s.happen(events.FencingFailed("c", generation(s), RetriableError("brokers are away"), TRACE))
    assert not s.state.tasks and "Later(delay=1.0, event=FencingDue(connector=c))" in s.lines[-1]
    s.happen(events.FencingDue("c"))
    assert "Fence(" in s.lines[-1]


def test_rounds_of_several_connectors_go_on_side_by_side(stage: MakeStage) -> None:
    s = stage()
    s.hold(actions.Fence)
    s.start()
    for name in ("a", "b", "c"):
        s.create(name, "1", "2")
        s.happen(s.topic.write(PutTaskConfigs(name, [{"part": "x"}, {"part": "y"}])))
    assert set(s.state.leadership.fencing) == {"a", "b", "c"}
    s.happen(events.FencingDone("b", s.topic.state.task_config_offsets["b"]))
    assert {id.connector for id in s.state.tasks} == {"b"}


# ---- upgrades and downgrades: workers of one group that are not all of the same mind


def test_a_preparing_leader_fences_for_enabled_followers(stage: MakeStage, golden: Golden) -> None:
    """The second of the two rolls: the leader's own tasks are not transactional yet, others' are."""
    s = stage(exactly_once=False)
    s.start()
    s.create("c", "a", "b")
    s.lines.clear()
    s.say("a follower has been enabled, and was assigned a task")
    s.happen(events.FencingRequested(7, "c"))
    s.say("more tasks: again no task here waits, but the followers' former tasks are fenced when they ask")
    s.task_configs["c"] = [{"part": "a"}, {"part": "b"}, {"part": "c"}]
    s.happen(events.ReconfigurationRequested("c"))
    s.happen(events.FencingRequested(8, "c"))
    assert s.topic.state.task_count_records == {"c": 3}
    golden(s)


def test_a_leader_that_is_enabled_finds_tasks_that_were_never_fenced(stage: MakeStage, golden: Golden) -> None:
    """The first enabled worker of a group, and the re-upgrade after a downgrade: no record follows the task configs."""
    s = stage()
    config = {"connector.class": "Source"}
    s.topic.write(PutConnector(1, "new", config, None, False))
    s.topic.write(PutTaskConfigs("new", [{"part": "a"}]))
    s.topic.write(PutConnector(2, "again", config, None, False))
    s.topic.write(PutTaskCount("again", -1, 3))
    s.topic.write(PutTaskConfigs("again", [{"part": "a"}, {"part": "b"}]))
    s.hold(actions.StartConnector)
    s.start()
    assert s.topic.state.task_count_records == {"new": 1, "again": 2}
    golden(s)


def test_a_disabled_worker_ignores_task_count_records(stage: MakeStage) -> None:
    """The soft downgrade: its tasks start without a round, and write none."""
    s = stage(exactly_once=False)
    s.topic.write(PutConnector(1, "c", {"connector.class": "Source"}, None, False))
    s.topic.write(PutTaskCount("c", -1, 2))
    s.topic.write(PutTaskConfigs("c", [{"part": "a"}]))
    s.hold(actions.StartConnector)
    s.start()
    assert set(s.state.tasks) == {C0} and s.topic.state.task_count_records == {"c": 2}
    assert "c" in s.topic.state.pending_fencing, "so the re-upgrade fences both former producers"


def test_in_the_eager_protocol_a_round_is_asked_for_after_each_rebalance(stage: MakeStage, golden: Golden) -> None:
    """There everything is given up before each join; nothing of it starts before the record is there."""
    s = follower(stage, "a")
    s.happen(s.topic.write(PutTaskCount("c", generation(s), 1)))
    s.hold(actions.Rejoin)
    s.lines.clear()
    s.happen(s.topic.write(PutTaskConfigs("c", [{"part": "x"}, {"part": "y"}])))
    s.happen(events.SessionLost(s.state.last_membership_event + 1))
    s.say("the tasks have ended, and the group has settled")
    s.happen(replace(s.assign(connectors=set()), sessioned=False))
    s.happen(s.topic.write(PutTaskCount("c", generation(s), 2)))
    s.happen(events.FencingAnswered("c", generation(s)))
    golden(s)


# ---- the leader's claim to the config topic (invariant 7)


def test_a_claim_that_is_not_allowed_fails_the_waiting_requests(stage: MakeStage) -> None:
    s = stage()
    s.hold(actions.ClaimWrites)
    s.start()
    s.create("c", "a", request=5)
    s.happen(events.ClaimFailed(RetriableError("brokers are away")))
    assert s.state.leadership.queue, "what may pass is waited for"
    s.happen(events.ClaimDue())
    s.happen(events.ClaimFailed(ConnectError("not allowed")))
    assert "Reply(request=5, error=ConnectError('not allowed'), created=False)" in s.lines[-1]
    assert not s.state.leadership.queue
    s.release(actions.ClaimWrites)
    s.happen(events.ClaimDue())
    s.create("c", "a", request=6)
    assert s.topic.state.connectors() == ("c",)
