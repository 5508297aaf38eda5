# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from headrace.model.ids import ConnectorTaskId
from headrace.worker.tasks.task_phase import (
    TRANSITIONS,
    IllegalTransitionError,
    StatusCall,
    TaskEvent,
    TaskLife,
    TaskPhase,
)

TASK = ConnectorTaskId("c", 0)


def test_a_life_with_a_pause_and_a_lost_process() -> None:
    life = TaskLife(TASK)
    events = [
        *(TaskEvent.RUNS, TaskEvent.PAUSES, TaskEvent.RESTARTS, TaskEvent.PAUSES, TaskEvent.RUNS),
        *(TaskEvent.RUNS, TaskEvent.STOP, TaskEvent.RUNS, TaskEvent.ENDS),
    ]
    reported = [life.move(event) for event in events]
    assert reported == [
        *(StatusCall.STARTUP, StatusCall.PAUSE, StatusCall.RESTART, StatusCall.PAUSE, StatusCall.RUNNING),
        *(StatusCall.NONE, StatusCall.NONE, StatusCall.NONE, StatusCall.SHUTDOWN),
    ]
    assert life.phase is TaskPhase.STOPPED


def test_why_it_has_no_process_is_reported_until_it_has_one() -> None:
    life = TaskLife(TASK)
    events = [*[TaskEvent.WAITS] * 2, TaskEvent.RUNS, TaskEvent.WAITS, TaskEvent.RESTARTS, TaskEvent.WAITS]
    assert [life.move(event) for event in events] == [
        *(
            StatusCall.RESTART,
            StatusCall.RESTART,
            StatusCall.RUNNING,
            StatusCall.NONE,
            StatusCall.RESTART,
            StatusCall.RESTART,
        )
    ]
    assert life.phase is TaskPhase.RESTARTING


def test_failed_stays_failed() -> None:
    life = TaskLife(TASK)
    assert life.move(TaskEvent.FAILS) is StatusCall.FAILURE
    assert [life.move(event) for event in (TaskEvent.ENDS, TaskEvent.STOP, TaskEvent.ENDS)] == [StatusCall.NONE] * 3
    assert life.phase is TaskPhase.FAILED


def test_a_move_that_is_not_in_the_table_shows_its_history() -> None:
    life = TaskLife(TASK)
    life.move(TaskEvent.RUNS)
    life.move(TaskEvent.ENDS)
    with pytest.raises(IllegalTransitionError) as error:
        life.move(TaskEvent.RUNS)
    assert str(error.value) == (
        "Task c-0: RUNS is not possible from STOPPED; history: LAUNCHED -RUNS-> RUNNING -ENDS-> STOPPED"
    )


def test_every_phase_can_be_stopped_and_every_live_one_can_end() -> None:
    assert all((phase, TaskEvent.STOP) in TRANSITIONS for phase in TaskPhase)
    assert all((phase, TaskEvent.ENDS) in TRANSITIONS for phase in TaskPhase if phase is not TaskPhase.STOPPED)
    assert all((phase, TaskEvent.WAITS) in TRANSITIONS for phase in TaskPhase), "it may be reported late"
    assert {before for before, _ in TRANSITIONS} == set(TaskPhase)
