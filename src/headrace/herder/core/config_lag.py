# SPDX-License-Identifier: Apache-2.0
"""The herder's core: the rules for a worker that has not read the config topic as far as the group has.

It reads on at once. If that takes too long it stops all its work, leaves the group so that no worker waits for it, and
joins again once it has caught up and its pause is over. Java: ``DistributedHerder.readConfigToEnd``. Unlike there no
task runs outside of a session (invariant 10); instead a worker whose lag delays no other stays in the group for as long
as Java's would continue without one: its running tasks are not touched, and only its new work waits.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.herder.core.herder_actions import CatchUp, HerderAction, Later, StepOut, Transition
from headrace.herder.core.herder_events import Assigned, SyncDue
from headrace.herder.core.herder_state import HerderState, Lag, Phase, SyncRules
from headrace.model.assignment import AssignmentError

_ATTEMPTS = 5
"""Java's retries before it gives up work, with pauses that are shares of a tenth of the rebalance delay."""


def sync_rules(timeout: float, backoff: float, max_delay: float, *, eager: bool) -> SyncRules:
    """Return the rules for worker.sync.timeout.ms, worker.unsync.backoff.ms and scheduled.rebalance.max.delay.ms.

    All of them are in seconds.

    In the eager protocol others get a worker's tasks as soon as it leaves, so it leaves early and stays away for the
    whole backoff. In the others it can have them back for as long as the delay lasts, so it comes back soon.
    """
    if eager:
        return SyncRules(timeout, timeout, backoff)
    tenth = max_delay / 10
    tolerance = (_ATTEMPTS + 1) * timeout + sum(tenth / left for left in range(1, _ATTEMPTS + 1))
    return SyncRules(timeout, tolerance, min(backoff, tenth / _ATTEMPTS))


def start_lag(state: HerderState, event: Assigned) -> Transition:
    """Start the timer of a lag that a round of the group has revealed."""
    state = replace(state, needed_offset=event.assignment.config_offset)
    blocking = event.assignment.error is not AssignmentError.NONE
    counted = state.lag is not None and (state.lag.blocking or not blocking)
    if counted or not is_behind(state):
        return state, []
    tolerance = state.sync.timeout if blocking else state.sync.tolerance
    return replace(state, lag=Lag(event.number, blocking)), [Later(tolerance, SyncDue(event.number))]


def sync_due(state: HerderState, number: int) -> HerderState:
    """Give up all work, unless this worker has caught up meanwhile."""
    if state.lag is None or state.lag.number != number or state.phase is not Phase.ACTIVE:
        return state
    return replace(state, membership=None, rejoining=False, lag=None, stepping_out=True)


def reconcile_lag(state: HerderState) -> Transition:
    """Read on, outside of the group too; leave it as soon as nothing runs here any more."""
    if state.phase is not Phase.ACTIVE:
        return state, []
    actions: list[HerderAction] = []
    if not is_behind(state):
        state = replace(state, lag=None)
    elif state.membership is None and not state.rejoining and not state.catching_up:
        state = replace(state, catching_up=True)
        actions.append(CatchUp(rejoin=False))
    if state.stepping_out and not state.connectors and not state.tasks:
        state = replace(state, stepping_out=False)
        actions.append(StepOut(state.sync.pause))
    return state, actions


def is_behind(state: HerderState) -> bool:
    """Return True if the config topic is not read as far as it has to be."""
    return state.config.offset < state.needed_offset
