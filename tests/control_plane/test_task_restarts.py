# SPDX-License-Identifier: Apache-2.0
"""Automatic restarts, as transcripts of the leader's decisions. Times are in seconds, and waits without jitter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headrace.config.restart_config import RESTART_ATTEMPTS, RESTART_POLICY, RestartRules
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
from headrace.herder.core.task_restarts import auto_restart
from headrace.model.auto_restart import ON_FAILURE, RestartCount
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from tests.control_plane.conftest import OTHER, Stage, show

Golden = Callable[[Stage], None]
T0, T1 = ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)
RULES = RestartRules(ON_FAILURE, max_attempts=3, jitter=0.0)
HOUR = 3600


class Failing(Stage):
    """A worker's core with a clock, timers, and the statuses that are FAILED. A restart ends a failure."""

    def __init__(self, rules: RestartRules = RULES, **how: Any) -> None:
        super().__init__(**how)
        self.state = HerderState(exactly_once=False, restarts=rules)
        self.now = 0.0
        self.failed: dict[str | ConnectorTaskId, events.Failure] = {}
        self.has_effect = True
        self._timers: list[tuple[float, events.HerderEvent]] = []

    def running(self, **config: str) -> Failing:
        """With connector c of two tasks, and a leader that has settled."""
        self.start()
        self.task_configs["c"] = [{"part": part} for part in "ab"]
        full = {"connector.class": "Source", "name": "c", **config}
        self.request(PutConnector(1, "c", full, None, allow_replace=False))
        self.later(10)
        self.lines.clear()
        return self

    def fails(self, id: str | ConnectorTaskId = T0, *, permanent: bool = False) -> None:
        self.failed[id] = events.Failure(id, int(self.now * 1000), permanent)
        self.happen(events.FailureSeen())

    def later(self, seconds: float) -> None:
        """Let time pass, with what is due meanwhile."""
        end = self.now + seconds
        while due := [timer for timer in self._timers if timer[0] <= end][:1]:
            self._timers.remove(due[0])
            self.now = max(self.now, due[0][0])
            self.happen(due[0][1])
        self.now = end

    def restarts(self) -> int:
        return sum(line.startswith("    Write(PutAutomaticRestart") for line in self.lines)

    def attempts(self, id: str | ConnectorTaskId = T0) -> int:
        return auto_restart(self.topic.state, self.state.restarts, id, None, int(self.now * 1000)).attempts

    def show(self, value: object) -> str:
        match value:
            case events.FailuresRead(failures=failures, now_ms=now):
                return f"FailuresRead([{', '.join(str(each.id) for each in failures)}], at {now / 1000:g} s)"
            case RestartCount(attempts=attempts, last_ms=last):
                return f"{attempts} at {last / 1000:g} s"
            case PutAutomaticRestart() | actions.RestartFailed() | events.AutomaticRestartRequested():
                return f"{type(value).__name__}({value.id}, {self.show(value.count)})"
            case actions.Write(write=PutAutomaticRestart() as write):
                return f"Write({self.show(write)})"
            case events.WriteDone(write=PutAutomaticRestart() as write):
                return f"WriteDone({self.show(write)})"
        return show(value)

    def _results(self, action: actions.HerderAction) -> list[events.HerderEvent]:
        match action:
            case actions.Later(delay=delay, event=events.FailuresDue() | events.FailureSeen() as event):
                self._timers.append((self.now + delay, event))
                self._timers.sort(key=lambda timer: timer[0])
                return []
            case actions.ReadFailures():
                return [events.FailuresRead(tuple(self.failed.values()), int(self.now * 1000))]
            case actions.RestartFailed(id=id):
                if not self.has_effect or self.failed.pop(id, None) is None:
                    return []
                return [events.RestartPlanned((id,), ()) if isinstance(id, str) else events.RestartPlanned((), (id,))]
            case actions.Write(write=PutAutomaticRestart() as write):
                asked = events.AutomaticRestartRequested(write.id, write.count)
                return [self.topic.write(write), asked, events.WriteDone(write)]
        return super()._results(action)


def test_a_task_fails_until_it_is_given_up(golden: Golden) -> None:
    s = Failing().running()
    s.say("the first restart follows after 10 s, the next ones after 20 s and 40 s")
    for seconds in (10, 20, 40):
        s.fails()
        s.later(seconds)
    assert s.restarts() == 3 and not s.failed
    s.say("three were allowed: it is reported once")
    s.fails()
    s.later(HOUR)
    s.fails(T1)
    assert [line for line in s.lines if "ReportGivenUp(id=c-0" in line] and s.restarts() == 3
    golden(s)


def test_each_restart_waits_twice_as_long_up_to_an_hour() -> None:
    rules = RestartRules(ON_FAILURE, max_attempts=30, jitter=0.0)
    assert [rules.delay_ms(attempt, "c-0") for attempt in (1, 2, 3, 9, 10, 30)] == [
        *(10_000, 20_000, 40_000, 2_560_000, 3_600_000, 3_600_000)
    ]


def test_waits_differ_by_a_fifth_and_every_worker_has_the_same() -> None:
    rules = RestartRules(ON_FAILURE)
    waits = [rules.delay_ms(1, f"c-{n}") for n in range(200)]
    assert min(waits) < 8500 and max(waits) > 11_500 and all(8000 <= wait <= 12_000 for wait in waits)
    assert waits == [RestartRules(ON_FAILURE).delay_ms(1, f"c-{n}") for n in range(200)]
    assert max(rules.delay_ms(20, f"c-{n}") for n in range(200)) == 3_600_000


def test_a_healthy_hour_resets(golden: Golden) -> None:
    s = Failing().running()
    for seconds in (10, 20):
        s.fails()
        s.later(seconds)
    assert s.attempts() == 2
    s.lines.clear()
    s.say("it runs for an hour, and then fails: as if it were for the first time")
    s.later(HOUR - 1)
    assert s.attempts() == 2
    s.later(1)
    assert s.attempts() == 0
    s.fails()
    s.later(10)
    assert s.attempts() == 1
    golden(s)


def test_operators_reset(golden: Golden) -> None:
    """A restart of the task, of the connector with its tasks, a resume, a new configuration; not the connector's."""
    s = Failing().running()

    def fails_twice() -> None:
        s.lines.append("")
        for seconds in (10, 20):
            s.fails()
            s.later(seconds)
        assert s.attempts() == 2

    fails_twice()
    s.request(PutRestart(2, "c", only_failed=False, include_tasks=False))
    assert s.attempts() == 2
    s.request(PutTaskRestart(2, "c", 0))
    assert s.attempts() == 0
    fails_twice()
    s.request(PutRestart(3, "c", only_failed=True, include_tasks=True))
    assert s.attempts() == 0
    fails_twice()
    s.request(PutTargetState(4, "c", TargetState.PAUSED))
    s.request(PutTargetState(5, "c", TargetState.STARTED))
    assert s.attempts() == 0
    fails_twice()
    s.request(PutConnector(6, "c", {"connector.class": "Source", "name": "c", "x": "y"}, None, allow_replace=True))
    assert s.attempts() == 0
    golden(s)


def test_a_mistake_in_a_configuration_is_never_restarted(golden: Golden) -> None:
    s = Failing().running()
    s.fails(permanent=True)
    s.later(HOUR)
    assert not s.restarts()
    golden(s)


@pytest.mark.parametrize("config", [{}, {RESTART_POLICY: "none"}])
def test_policy_none_restarts_nothing(config: dict[str, str]) -> None:
    worker = RestartRules() if not config else RULES
    s = Failing(worker).running(**config)
    s.fails()
    s.later(HOUR)
    assert s.lines == ["> FailureSeen()"]


def test_a_connectors_own_rules(golden: Golden) -> None:
    """The worker's policy is none; the connector's are on-failure, and one attempt."""
    s = Failing(RestartRules(jitter=0.0)).running(**{RESTART_POLICY: ON_FAILURE, RESTART_ATTEMPTS: "1"})
    s.fails()
    s.later(10)
    s.fails()
    assert s.restarts() == 1 and any("ReportGivenUp" in line for line in s.lines)
    golden(s)


def test_a_former_leaders_clock_that_was_ahead_delays_nothing() -> None:
    """The time of its last restart has not come yet by this worker's clock: it says nothing."""
    s = Failing().running()
    s.fails()
    s.later(10)
    s.fails()
    count = RestartCount(1, int((s.now + 10 * HOUR) * 1000))
    config = replace(s.topic.state, restart_counts={T0: count})
    answer = auto_restart(config, RULES, T0, s.failed[T0], int(s.now * 1000))
    assert answer.next_attempt_ms == int((s.now + 20) * 1000) and answer.attempts == 1
    config = replace(config, restart_counts={T0: replace(count, attempts=3)})
    assert auto_restart(config, RULES, T0, s.failed[T0], int(s.now * 1000)).gave_up


def test_values_that_the_leader_cannot_read_are_the_workers() -> None:
    config = {RESTART_POLICY: "${file:/x:y}", RESTART_ATTEMPTS: "²"}
    assert RULES.of_connector(config) == RULES.of_connector({}) == RULES


def test_a_failed_connector_is_restarted_itself(golden: Golden) -> None:
    s = Failing().running()
    s.hold(actions.StartConnector)
    s.request(PutRestart(2, "c", only_failed=False, include_tasks=False))
    s.happen(events.ConnectorFailed("c"))
    s.lines.clear()
    s.fails("c")
    s.release(actions.StartConnector)
    s.later(10)
    assert s.attempts("c") == 1 and not s.attempts()
    golden(s)


def test_the_next_leader_goes_on_where_the_last_ended(golden: Golden) -> None:
    """It reads the counts in the config topic, and lets what the group has just assigned start first."""
    old = Failing().running()
    old.fails()
    old.later(10)
    old.fails()
    new = Failing(leader=OTHER)
    new.topic, new.task_configs, new.failed, new.now = old.topic, old.task_configs, dict(old.failed), old.now
    new.start()
    new.fails(T1)
    assert not [line for line in new.lines if "ReadFailures" in line]
    new.lines.clear()
    new.say("the leader dies, and this worker takes over, 15 s later; the second restart was due after 20 s")
    new.later(15)
    new.leader = "me"
    new.happen(new.assign())
    new.happen(events.FailureSeen())
    assert not new.restarts()
    new.later(10)
    assert new.attempts() == 2 and new.attempts(T1) == 1
    new.say("the old leader does not know yet: its write is fenced, and when it reads on the task runs")
    old.hold(actions.Write)
    old.now = new.now
    old.later(20)
    put = PutAutomaticRestart(T0, RestartCount(2, int(old.now * 1000)))
    old.happen(events.WriteFailed(put, OSError("fenced"), fenced=False))
    assert not old.state.leadership.queue and old.state.leadership.writing == ()
    golden(new)


def test_a_restart_without_effect_counts_and_is_repeated(golden: Golden) -> None:
    """Its owner died of it, or is no worker of headrace's."""
    s = Failing().running()
    s.has_effect = False
    s.fails()
    s.say("its owner has half a minute to begin, though the next restart after a failure would follow after 20 s")
    s.later(10 + 20)
    assert s.restarts() == 1
    s.later(10)
    assert s.restarts() == 2
    s.later(30)
    assert s.restarts() == 3
    s.say("the third is the last: it is given up when that has had no effect either")
    s.later(29)
    assert not any("ReportGivenUp" in line for line in s.lines)
    s.later(1)
    assert any("ReportGivenUp" in line for line in s.lines)
    golden(s)


@pytest.mark.parametrize("state", [TargetState.PAUSED, TargetState.STOPPED])
def test_nothing_is_restarted_that_is_not_to_run(state: TargetState) -> None:
    s = Failing().running()
    s.fails()
    s.request(PutTargetState(2, "c", state))
    s.later(HOUR)
    assert not s.restarts() and not s.state.leadership.queue
    answer = auto_restart(s.topic.state, RULES, T0, s.failed[T0], int(s.now * 1000))
    assert answer.next_attempt_ms is None and not answer.gave_up and state.value in (answer.reason or "")


def test_nothing_is_restarted_that_is_deleted() -> None:
    s = Failing().running()
    s.fails()
    s.request(RemoveConnector(2, "c"))
    s.later(HOUR)
    assert not s.restarts()


def test_a_resumed_connectors_failed_tasks_are_restarted() -> None:
    """A resume alone does not restart them, and writes no new status."""
    s = Failing().running()
    s.request(PutTargetState(2, "c", TargetState.PAUSED))
    s.fails()
    s.later(HOUR)
    s.request(PutTargetState(3, "c", TargetState.STARTED))
    assert s.restarts() == 1 and not s.failed


def test_there_is_one_timer_however_many_fail() -> None:
    """The task that fails last is the first to be restarted: its timer replaces that of the other one."""
    s = Failing().running()
    for seconds in (10, 20):
        s.fails()
        s.later(seconds)
    s.fails()
    s.fails(T1)
    s.later(10)
    assert s.restarts() == 3 and T0 in s.failed
    s.lines.clear()
    s.later(30)
    assert s.restarts() == 1 and len([line for line in s.lines if line.startswith("> FailuresDue")]) == 2
    assert len([line for line in s.lines if line.startswith("> FailuresRead")]) == 2


def test_a_task_that_is_removed_meanwhile_is_not_restarted() -> None:
    s = Failing().running()
    s.fails(T1)
    s.task_configs["c"] = [{"part": "a"}]
    s.happen(events.ReconfigurationRequested("c"))
    s.later(HOUR)
    assert not s.restarts()


def test_an_operators_restart_overtakes_one_that_waits_to_be_written() -> None:
    """The waiting one would set the count that the operator has just reset, and restart the task once more."""
    s = Failing().running()
    for seconds in (10, 20):
        s.fails()
        s.later(seconds)
    s.fails()
    s.hold(actions.Write)
    by_hand = PutTaskRestart(2, "c", 0)
    s.request(by_hand)
    s.later(40)
    assert s.state.leadership.writing == (by_hand,) and len(s.state.leadership.queue) == 1
    s.lines.clear()
    s.release(actions.Write)
    s.happen(s.topic.write(by_hand))
    s.happen(events.WriteDone(by_hand))
    assert not s.restarts() and not s.attempts() and not s.state.leadership.queue
    s.say("that has no effect: the task is restarted as if it had failed for the first time")
    s.later(29)
    assert not s.restarts()
    s.later(1)
    assert s.restarts() == 1 and s.attempts() == 1
