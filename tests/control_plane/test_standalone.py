# SPDX-License-Identifier: Apache-2.0
"""A worker that is alone, as transcripts: the same decisions, a group of one, and configurations in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.api.errors import ConnectError, RetriableError
from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import (
    PutAutomaticRestart,
    PutConnector,
    PutRestart,
    PutTargetState,
    PutTaskRestart,
    RemoveConnector,
)
from headrace.herder.core.herder_state import HerderState
from headrace.herder.engine.config_topic_writes import config_write
from headrace.herder.engine.update_listeners import ConfigUpdateListener
from headrace.logs.loggers import Loggers
from headrace.model.auto_restart import RestartCount
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.standalone.sole_member import SoleMember
from headrace.storage.memory_config_backing_store import MemoryConfigBackingStore
from tests.control_plane.conftest import Stage, show

Golden = Callable[[Stage], None]
STOPPED, STARTED, PAUSED = TargetState.STOPPED, TargetState.STARTED, TargetState.PAUSED


class Alone(Stage):
    """One worker's core with the real member and config store of a standalone worker."""

    def __init__(self) -> None:
        super().__init__()
        self.state = HerderState(exactly_once=False, alone=True)
        self._posted: list[events.HerderEvent] = []
        inbox: Any = self
        self.store = MemoryConfigBackingStore(ConfigUpdateListener(inbox, Loggers()).on_config_update)
        self.member = SoleMember("me", self.store.snapshot, self.post)

    def post(self, event: events.HerderEvent) -> None:
        self._posted.append(event)

    def show(self, value: object) -> str:
        return show(value, last=lambda offset: offset)

    def start(self) -> None:
        self.happen(events.StoresStarted(self.store.snapshot()))

    def _results(self, action: actions.HerderAction) -> list[events.HerderEvent]:
        match action:
            case actions.Join():
                self.member.start()
            case actions.Rejoin():
                self.member.request_rejoin()
            case actions.Write(write=write):
                self.store.write(config_write(write))
                self.post(events.WriteDone(write))
            case actions.PlanRestart(name=name, include_tasks=include_tasks):
                tasks = self.store.snapshot().tasks(name) if include_tasks else ()
                return [events.RestartPlanned((name,), tasks)]
            case _:
                return super()._results(action)
        posted, self._posted = self._posted, []
        return posted


@pytest.fixture
def alone() -> Alone:
    return Alone()


def running(alone: Alone, *tasks: str) -> Alone:
    """A worker with a connector c that runs these tasks."""
    alone.start()
    alone.create("c", *tasks)
    alone.lines.clear()
    return alone


def test_alone_create_to_running(alone: Alone, golden: Golden) -> None:
    alone.start()
    alone.hold(actions.StartConnector)
    alone.create("c", "a", "b")
    alone.say("a client waits for the start, which ends with that of the tasks")
    alone.happen(events.StartAwaited(2, "c"))
    alone.happen(events.ConnectorStarted("c"))
    golden(alone)


def test_alone_created_paused(alone: Alone, golden: Golden) -> None:
    alone.start()
    alone.create("c", "a", target=PAUSED)
    alone.say("there is nothing to wait for")
    alone.happen(events.StartAwaited(2, "c"))
    golden(alone)


def test_alone_a_start_that_fails(alone: Alone, golden: Golden) -> None:
    alone.start()
    alone.hold(actions.StartConnector)
    alone.create("c", "a")
    alone.happen(events.StartAwaited(2, "c"))
    alone.happen(events.ConnectorFailed("c", ConnectError("boom")))
    alone.say("no connector, no start")
    alone.happen(events.StartAwaited(3, "none"))
    golden(alone)


def test_alone_task_configs_are_tried_again(alone: Alone, golden: Golden) -> None:
    alone.start()
    alone.hold(actions.ComputeTaskConfigs)
    alone.create("c", "a")
    alone.happen(events.StartAwaited(2, "c"))
    alone.happen(events.TaskConfigsFailed("c", RetriableError("not now"), at=1.0))
    alone.release(actions.ComputeTaskConfigs)
    alone.happen(events.ReconfigurationRequested("c"))
    golden(alone)


def test_alone_a_new_config(alone: Alone, golden: Golden) -> None:
    running(alone, "a", "b").task_configs["c"] = [{"part": "z"}]
    config = {"connector.class": "Source", "name": "c", "new": "1"}
    alone.request(PutConnector(2, "c", config, None, allow_replace=True))
    assert alone.state.tasks.keys() == {ConnectorTaskId("c", 0)}
    golden(alone)


def test_alone_stop_and_resume(alone: Alone, golden: Golden) -> None:
    running(alone, "a").hold(actions.StopTasks)
    alone.request(PutTargetState(2, "c", STOPPED))
    alone.say("offsets are changed when the tasks have ended: a worker that is alone refuses nothing for that")
    alone.change_offsets("c", request=3)
    alone.happen(events.TasksStopped((ConnectorTaskId("c", 0),)))
    alone.say("resumed it may not be changed")
    alone.request(PutTargetState(4, "c", STARTED))
    alone.change_offsets("c", request=5)
    golden(alone)


def test_alone_delete(alone: Alone, golden: Golden) -> None:
    running(alone, "a").hold(actions.StopTasks)
    alone.request(RemoveConnector(2, "c"))
    alone.say("created again: it need not wait for the end of the other's tasks, but its own do")
    alone.create("c", "a", request=3)
    alone.say("the request for the removal ends when nothing of it is left")
    alone.happen(events.TasksStopped((ConnectorTaskId("c", 0),)))
    golden(alone)


def test_alone_removed_with_its_offsets(alone: Alone, golden: Golden) -> None:
    running(alone, "a").hold(actions.DeleteRemovedOffsets)
    alone.request(RemoveConnector(2, "c", with_offsets=True))
    alone.say("it can be created again when its offsets are deleted")
    alone.create("c", "a", request=3)
    alone.happen(events.RemovedOffsetsStay("c", ConnectError("no answer")))
    alone.release(actions.DeleteRemovedOffsets)
    alone.happen(events.RemovedOffsetsDue("c"))
    golden(alone)


def test_alone_restarts(alone: Alone, golden: Golden) -> None:
    running(alone, "a", "b")
    alone.request(PutTaskRestart(2, "c", 1))
    alone.say("the connector, and its tasks too")
    alone.request(PutRestart(3, "c", only_failed=False, include_tasks=True))
    alone.say("tasks that are not there, and never were")
    alone.request(PutTaskRestart(4, "c", 2))
    golden(alone)


def test_alone_automatic_restarts(alone: Alone, golden: Golden) -> None:
    """A task, and a connector; both wait in the store for who has failed: here it is the only worker."""
    alone.start()
    alone.create("c", "a")
    alone.lines.clear()
    alone.request(PutAutomaticRestart(ConnectorTaskId("c", 0), RestartCount(1, 7)))
    alone.request(PutAutomaticRestart("c", RestartCount(2, 8)))
    assert alone.store.snapshot().restart_counts == {
        ConnectorTaskId("c", 0): RestartCount(1, 7),
        "c": RestartCount(2, 8),
    }
    golden(alone)
