# SPDX-License-Identifier: Apache-2.0
"""The herder's core: automatic restarts of failed connectors and tasks, one of the leader's duties.

Nothing is remembered here that decides: the count of restarts is in the config topic, with the requests themselves, and
the time of a failure in the status topic. So the next leader continues where this one ended, and any worker knows when
a restart is due.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headrace.config.restart_config import RESTART_POLICY, RestartRules
from headrace.herder.core.config_writes import PutAutomaticRestart
from headrace.herder.core.herder_actions import HerderAction, Later, ReadFailures, ReportGivenUp, Transition, Write
from headrace.herder.core.herder_events import Failure, FailuresDue, FailureSeen, FailuresRead
from headrace.herder.core.herder_state import FailureWatch, HerderState, Privileges, Watching
from headrace.herder.core.settled import unless_settled
from headrace.model.auto_restart import ON_FAILURE, AutoRestart, RestartCount
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState

HEALTHY_MS: Final = 3_600_000
"""A failure so long after the last automatic restart counts as the first one again."""
_EFFECT_MS: Final = 30_000
"""The least time for a restart to have an effect: its owner may have to stop something, or may have died."""
_MISTAKE: Final = "its configuration is refused, which a restart would repeat: correct it, or restart by hand"


# ---- decisions about one connector or task


def auto_restart(
    config: ClusterConfigState, rules: RestartRules, id: str | ConnectorTaskId, failure: Failure | None, now_ms: int
) -> AutoRestart:
    """Return the next automatic restart of a connector or task, or the reason why there is none.

    ``rules`` are the worker's; ``failure`` is None if it is not FAILED.
    """
    name = _connector(id)
    own = rules.of_connector(config.connector_configs.get(name, {}))
    count = _count(config, id, now_ms if failure is None else failure.failed_ms)
    attempts = count.attempts if count else 0
    none = AutoRestart(own.policy, attempts, own.max_attempts, next_attempt_ms=None, gave_up=False, reason=None)
    if failure is None or own.policy != ON_FAILURE:
        return none
    if not is_to_run(config, id):
        target = config.target_state(name) or TargetState.STARTED
        return replace(none, reason=f"its connector is {target.value}")
    if failure.permanent:
        return replace(none, gave_up=True, reason=_MISTAKE)
    effect_ms = _effect_ms(config, failure, now_ms)
    if attempts < own.max_attempts:
        return replace(none, next_attempt_ms=max(failure.failed_ms + own.delay_ms(attempts + 1, str(id)), effect_ms))
    if now_ms < effect_ms:
        return replace(none, reason="its last restart is under way")
    return replace(none, gave_up=True, reason=_exhausted(own.max_attempts))


def is_to_run(config: ClusterConfigState, id: str | ConnectorTaskId) -> bool:
    """Return True if the connector or task exists, and its connector is STARTED."""
    name = _connector(id)
    exists = config.has_task(id) if isinstance(id, ConnectorTaskId) else config.contains(name)
    return exists and config.target_state(name) is TargetState.STARTED


def judge(config: ClusterConfigState, write: PutAutomaticRestart) -> HerderAction | None:
    """Return the write of a restart whose turn has come; look again later if an operator's came before it."""
    if not is_to_run(config, write.id):
        return None
    if config.restart_counts.get(write.id) != write.replaces:
        return Later(_EFFECT_MS / 1000, FailureSeen())
    return Write(write)


def _connector(id: str | ConnectorTaskId) -> str:
    return id if isinstance(id, str) else id.connector


def _count(config: ClusterConfigState, id: str | ConnectorTaskId, until_ms: int) -> RestartCount | None:
    """Return the restarts in a row, None if it has not failed for long enough since the last one."""
    count = config.restart_counts.get(id)
    return None if count is None or until_ms - count.last_ms >= HEALTHY_MS else count


def _effect_ms(config: ClusterConfigState, failure: Failure, now_ms: int) -> int:
    """Return the time until which an effect of the last restart is awaited; 0 if the failure came after it.

    A restart in the future was written by a former leader whose clock is ahead: nothing is known of its time.
    """
    count = config.restart_counts.get(failure.id)
    return 0 if count is None or not failure.failed_ms < count.last_ms <= now_ms else count.last_ms + _EFFECT_MS


def _exhausted(attempts: int) -> str:
    times = "once" if attempts == 1 else f"{attempts} times in a row"
    return f"it was restarted {times}, the most that tasks.restart.max.attempts allows: remove the cause, then restart"


# ---- the leader's watch


@unless_settled(lambda state: (state.config, state.restarts, state.leadership.privileges, state.leadership.failures))
def reconcile_watch(state: HerderState) -> Transition:
    """Watch over failures while this worker leads, and something may have to be restarted.

    A new leader waits as long as before a first restart: what the group has just assigned is starting.
    """
    watch, watches = state.leadership.failures, state.leadership.privileges is Privileges.HELD and _is_wanted(state)
    if watches and watch.stage is Watching.OFF:
        return _with_timer(state, replace(watch, stage=Watching.SETTLING), state.restarts.backoff.after(1))
    if not watches and watch.stage is not Watching.OFF:
        # A number that is used up: no timer of this watch is one of the next.
        return state.with_leadership(failures=FailureWatch(timer=watch.timer + 1)), []
    return state, []


def _is_wanted(state: HerderState) -> bool:
    configs = state.config.connector_configs.values()
    return any((config.get(RESTART_POLICY) or state.restarts.policy) == ON_FAILURE for config in configs)


def config_updated(old: HerderState, new: HerderState) -> Transition:
    """Look at the failures of connectors that were resumed."""
    same = old.config.target_states == new.config.target_states
    return new, [] if same else _read(new)


def failure_seen(state: HerderState) -> Transition:
    """Look at all failures; a worker that does not lead has nothing to do."""
    return state, _read(state)


def restart_written(state: HerderState) -> Transition:
    """Look at the failures again: if this restart has no effect, another one follows."""
    return state, _read(state)


def failures_due(state: HerderState, number: int) -> Transition:
    """Look at all failures, if this is the newest timer."""
    watch = state.leadership.failures
    if watch.stage is Watching.OFF or watch.timer != number:
        return state, []
    state = state.with_leadership(failures=replace(watch, stage=Watching.ON, due_ms=None))
    return state, _read(state)


def _read(state: HerderState) -> list[HerderAction]:
    return [ReadFailures()] if state.leadership.failures.stage is Watching.ON else []


def failures_read(state: HerderState, event: FailuresRead) -> Transition:
    """Restart what is due, set a timer for the next, and report once what is given up."""
    if state.leadership.failures.stage is not Watching.ON:
        return state, []
    now, underway = event.now_ms, _underway(state)
    answers = {
        failure.id: auto_restart(state.config, state.restarts, failure.id, failure, now)
        for failure in event.failures
        if failure.id not in underway
    }
    for id, answer in answers.items():
        if answer.next_attempt_ms is not None and answer.next_attempt_ms <= now:
            count, replaced = RestartCount(answer.attempts + 1, now), state.config.restart_counts.get(id)
            state = state.with_write(PutAutomaticRestart(id, count, replaced))
    state, actions = _report_given_up(state, answers)
    later = [answer.next_attempt_ms for answer in answers.values() if answer.next_attempt_ms is not None]
    later += [_effect_ms(state.config, failure, now) for failure in event.failures]
    state, timer = _set_timer(state, [due for due in later if due > now], now)
    return state, [*actions, *timer]


def _underway(state: HerderState) -> set[str | ConnectorTaskId]:
    return {write.id for write in state.leadership.writes if isinstance(write, PutAutomaticRestart)}


def _report_given_up(state: HerderState, answers: dict[str | ConnectorTaskId, AutoRestart]) -> Transition:
    watch = state.leadership.failures
    given_up = {id: answer.reason or "" for id, answer in answers.items() if answer.gave_up}
    state = state.with_leadership(failures=replace(watch, given_up=frozenset(given_up)))
    return state, [ReportGivenUp(id, reason) for id, reason in given_up.items() if id not in watch.given_up]


def _set_timer(state: HerderState, later: list[int], now_ms: int) -> Transition:
    watch = state.leadership.failures
    if not later or (watch.due_ms is not None and watch.due_ms <= min(later)):
        return state, []
    return _with_timer(state, replace(watch, due_ms=min(later)), (min(later) - now_ms) / 1000)


def _with_timer(state: HerderState, watch: FailureWatch, delay: float) -> Transition:
    """Set a timer that replaces the former one."""
    watch = replace(watch, timer=watch.timer + 1)
    return state.with_leadership(failures=watch), [Later(delay, FailuresDue(watch.timer))]
