# SPDX-License-Identifier: Apache-2.0
"""What the herder owes to other workers, as transcripts: session keys, their task configs, their rounds of fencing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.api.errors import ConnectError
from headrace.config.session_key_config import SessionKeyRules
from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import PutConnector, PutSessionKey, PutTargetState, PutTaskConfigs, PutTaskCount
from headrace.herder.core.herder_core import step
from headrace.herder.core.herder_state import Privileges
from headrace.herder.core.local_work import task_configs_errors
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState

MakeStage = Callable[..., Any]
Golden = Callable[[Any], None]
CONFIG = {"connector.class": "Source"}


def signing(stage: Any, rules: SessionKeyRules | None = None) -> Any:
    stage.state = replace(stage.state, session_keys=rules or SessionKeyRules())
    return stage


def follower(stage: MakeStage, *tasks: str) -> Any:
    """A follower with connector c, which has no tasks yet."""
    s = stage(leader="other")
    s.start()
    s.topic.write(PutConnector(0, "c", CONFIG, None, allow_replace=False))
    s.task_configs["c"] = [{"part": part} for part in tasks]
    s.happen(events.ConfigUpdated(s.topic.state, connectors=("c",)))
    return s


# ---- assignments and task configs


def test_task_configs_start_only_by_an_assignment_that_knew_their_commit_record(stage: MakeStage) -> None:
    """A batch of the leader's can end before the commit record: then it assigned the tasks of the former configs."""
    s = follower(stage, "a")
    s.hold(actions.Rejoin)
    s.topic.write(PutTaskConfigs("c", [{"part": "old"}]))
    s.happen(s.assign())
    s.happen(s.topic.write(PutTaskCount("c", s.topic.state.task_config_offsets["c"], 1)))
    former = s.assign()
    update = s.topic.write(PutTaskConfigs("c", [{"part": "new"}]))
    commit = update.config.task_config_offsets["c"]
    assignment = replace(former.assignment, config_offset=commit)
    s.happen(replace(former, assignment=assignment))
    s.happen(update)
    s.happen(events.ConfigUpdated(s.topic.write(PutTaskCount("c", commit, 1)).config))
    assert not s.state.tasks
    s.happen(s.assign())
    assert set(s.state.tasks) == {ConnectorTaskId("c", 0)}


# ---- session keys


def test_the_leader_keeps_a_session_key(stage: MakeStage, golden: Golden) -> None:
    s = signing(stage())
    s.start()
    first = s.topic.state.session_key
    s.say("a config write does not make it look again")
    s.create("c")
    s.say("the key has reached its age")
    s.happen(events.SessionKeyExpired(first))
    second = s.topic.state.session_key
    assert second not in (None, first)
    s.say("a timer of the former key is too late")
    s.happen(events.SessionKeyExpired(first))
    assert s.topic.state.session_key == second
    golden(s)


def test_a_key_of_another_kind_is_replaced(stage: MakeStage, golden: Golden) -> None:
    s = signing(stage(), SessionKeyRules("HmacSHA512", 64))
    s.topic.write(PutSessionKey(None, SessionKeyRules()))
    s.start()
    key = s.topic.state.session_key
    assert key is not None and key.algorithm == "HmacSHA512"
    golden(s)


def test_a_key_that_could_not_be_written_is_looked_at_again(stage: MakeStage, golden: Golden) -> None:
    s = signing(stage())
    s.start()
    key = s.topic.state.session_key
    s.hold(actions.Write)
    s.happen(events.SessionKeyExpired(key))
    s.say("the timer does not ask twice while a write is under way")
    s.happen(events.SessionKeyExpired(key))
    [write] = s.state.leadership.writing
    s.happen(events.WriteFailed(write, ConnectError("no answer")))
    assert s.state.leadership.privileges is Privileges.WAITING
    s.release(actions.Write)
    s.happen(events.ClaimDue())
    golden(s)


def test_an_expired_key_is_the_leaders_business(stage: MakeStage, golden: Golden) -> None:
    s = signing(stage())
    s.start()
    key = s.topic.state.session_key
    s.say("another one leads now")
    s.leader = "other"
    s.happen(s.assign())
    s.happen(events.SessionKeyExpired(key))
    s.say("and this one again, which looks at the key anew")
    s.leader = "me"
    s.happen(s.assign())
    golden(s)


def test_a_group_that_cannot_sign_gets_no_key(stage: MakeStage) -> None:
    s = signing(stage())
    s.hold(actions.Join)
    s.start()
    assert s.state.signed
    s.happen(replace(s.assign(), sessioned=False))
    assert s.state.is_leader and not s.state.signed and s.topic.state.session_key is None
    s.happen(s.assign())
    assert s.state.signed and s.topic.state.session_key is not None


# ---- task configs between workers


def test_a_follower_gives_its_task_configs_to_the_leader(stage: MakeStage, golden: Golden) -> None:
    s = follower(stage, "a")
    s.say("the leader has written them")
    s.happen(s.topic.write(PutTaskConfigs("c", s.task_configs["c"])))
    s.say("the same again are not worth a request")
    s.happen(events.ReconfigurationRequested("c"))
    golden(s)


def test_a_publication_that_fails_is_repeated(stage: MakeStage, golden: Golden) -> None:
    s = stage(leader="other")
    s.hold(actions.PublishTaskConfigs)
    s.start()
    s.topic.write(PutConnector(0, "c", CONFIG, None, allow_replace=False))
    s.task_configs["c"] = [{"part": "a"}]
    s.happen(events.ConfigUpdated(s.topic.state, connectors=("c",)))
    s.say("each time it waits longer")
    for _ in range(3):
        s.happen(events.PublicationFailed("c", ConnectError("no leader"), at=1.0))
        s.happen(events.ReconfigurationRequested("c"))
    s.say("it has failed until the leader has accepted them, not only until the connector has made them")
    (error,) = task_configs_errors(s.state, 1.0).values()
    assert (error.stage, error.attempts, error.message) == ("publishing", 3, "no leader")
    s.happen(events.TaskConfigsPublished("c"))
    assert task_configs_errors(s.state, 1.0) == {}
    s.say("this worker leads by the time of the next attempt")
    s.happen(events.PublicationFailed("c", ConnectError("no leader"), at=1.0))
    s.leader = "me"
    s.happen(s.assign())
    s.happen(events.ReconfigurationRequested("c"))
    golden(s)


def test_failures_without_end_are_no_trouble(stage: MakeStage) -> None:
    s = follower(stage, "a")
    state = s.state
    for _ in range(2000):
        state, done = step(state, events.PublicationFailed("c", ConnectError("no leader"), at=1.0))
    (later,) = done
    assert later.delay == 60.0


def test_task_configs_of_another_worker(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.StartTask)
    s.say("new ones are written, and the request ends when they are")
    s.request(PutTaskConfigs("c", [{"part": "b"}], request=7))
    s.say("the same ones are there already")
    s.request(PutTaskConfigs("c", [{"part": "b"}], request=8))
    s.say("of a connector that is gone")
    s.request(PutTaskConfigs("gone", [{"part": "b"}], request=9))
    s.say("of one that has been stopped meanwhile")
    s.happen(s.topic.write(PutTargetState(0, "c", TargetState.STOPPED)))
    s.request(PutTaskConfigs("c", [{"part": "c"}], request=10))
    golden(s)


def test_task_configs_of_another_worker_that_cannot_be_written(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a")
    s.lines.clear()
    s.hold(actions.Write)
    s.request(PutTaskConfigs("c", [{"part": "b"}], request=7))
    s.happen(events.WriteFailed(s.state.leadership.writing[0], ConnectError("no answer")))
    s.say("no leader any more")
    s.leader = "other"
    s.happen(s.assign())
    s.request(PutTaskConfigs("c", [{"part": "b"}], request=8))
    golden(s)


# ---- rounds of fencing for other workers


def test_a_worker_waits_for_a_round_of_fencing(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.create("c", "a", "b")
    s.lines.clear()
    s.say("there is nothing to wait for")
    s.happen(events.FencingRequested(7, "c"))
    s.say("two wait for the same round")
    s.hold(actions.Fence)
    s.task_configs["c"] = [{"part": "x"}]
    s.happen(events.ReconfigurationRequested("c"))
    s.happen(events.FencingRequested(8, "c"))
    s.happen(events.FencingRequested(9, "c"))
    s.happen(events.FencingDone("c", s.topic.state.task_config_offsets["c"]))
    golden(s)


def test_rounds_of_fencing_that_cannot_be(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.hold(actions.StartConnector)
    s.start()
    s.happen(events.FencingRequested(1, "none"))
    s.topic.write(PutConnector(0, "sink", {"connector.class": "Sink"}, None, allow_replace=False))
    s.happen(events.ConfigUpdated(replace(s.topic.state, pending_fencing=frozenset({"sink"}))))
    s.happen(events.FencingRequested(2, "sink"))
    s.say("no leader any more")
    s.leader = "other"
    s.happen(s.assign())
    s.happen(events.FencingRequested(3, "sink"))
    golden(s)
