# SPDX-License-Identifier: Apache-2.0
"""The herder's decisions: one pure function from its state and an event to a new state and actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.herder.core import (
    awaited_work,
    config_lag,
    fencing_requests,
    leader_duties,
    local_work,
    offset_duties,
    rebalance,
    task_restarts,
    zombie_fencing,
)
from headrace.herder.core import herder_events as events
from headrace.herder.core.herder_actions import (
    FindType,
    HerderAction,
    Join,
    Leave,
    PlanRestart,
    Rejoin,
    Reply,
    RestartFailed,
    Transition,
)
from headrace.herder.core.herder_events import HerderEvent
from headrace.herder.core.herder_state import HerderState, Phase
from headrace.herder.core.settled import Reconciler, unless_settled


def step(state: HerderState, event: HerderEvent) -> Transition:
    """Return the state after ``event``, and the actions that follow from it, in order.

    The event is applied to the state first. Then everything that runs or waits is reconciled with the new state.
    """
    state, actions = _apply(state, event)
    state, more = _reconcile(state, _RECONCILERS)
    return state, [*actions, *more]


def _reconcile(state: HerderState, reconcilers: Sequence[Reconciler]) -> Transition:
    actions: list[HerderAction] = []
    for reconcile in reconcilers:
        state, more = reconcile(state)
        actions += more
    return state, actions


def _apply(state: HerderState, event: HerderEvent) -> Transition:
    match event:
        case events.StoresStarted(config=config):
            return _stores_started(state, events.ConfigUpdated(config))
        case events.ConfigUpdated():
            return task_restarts.config_updated(state, rebalance.config_updated(state, event))
        case events.Assigned():
            return rebalance.assigned(state, event)
        case events.SessionLost():
            return rebalance.session_lost(state, event), []
        case events.RejoinDue(generation=generation):
            return rebalance.rejoin_due(state, generation)
        case events.SyncDue(number=number):
            return config_lag.sync_due(state, number), []
        case events.CaughtUp(rejoin=rejoin):
            return replace(state, catching_up=state.catching_up and rejoin), [Rejoin()] if rejoin else []
        case events.TypeFound(connector_class=connector_class, type=type):
            return replace(state, types={**state.types, connector_class: type}), []
        case events.HealthAsked(request=request):
            return replace(state, health_asked=(*state.health_asked, request)), []
        case events.StopRequested():
            return replace(state, phase=Phase.STOPPING), []
    return _apply_local_work(state, event)


def _apply_local_work(state: HerderState, event: HerderEvent) -> Transition:
    match event:
        case events.ConnectorStarted(name=name):
            return local_work.connector_started(state, name), []
        case events.ConnectorFailed():
            return local_work.connector_failed(state, event), []
        case events.ConnectorStopped(name=name):
            return local_work.connector_stopped(state, name), []
        case events.StartAwaited():
            return awaited_work.start_awaited(state, event), []
        case events.ReconfigurationRequested(name=name):
            return local_work.reconfiguration_requested(state, name), []
        case events.TaskConfigsComputed():
            return local_work.task_configs_computed(state, event), []
        case events.TaskConfigsFailed():
            return local_work.task_configs_failed(state, event)
        case events.TaskConfigsPublished(name=name):
            return local_work.task_configs_published(state, name), []
        case events.PublicationFailed():
            return local_work.publication_failed(state, event)
        case events.TasksStopped(ids=ids):
            return local_work.tasks_stopped(state, ids), []
        case events.RestartRequested(name=name, only_failed=only_failed, include_tasks=include_tasks):
            return state, [PlanRestart(name, only_failed, include_tasks)]
        case events.RestartPlanned():
            return local_work.restart_planned(state, event), []
        case events.AutomaticRestartRequested(id=id, count=count):
            return state, [RestartFailed(id, count)]
    return _apply_leadership(state, event)


def _apply_leadership(state: HerderState, event: HerderEvent) -> Transition:
    match event:
        case events.WriteRequested(write=write):
            return state.with_write(write), []
        case events.WritesClaimed():
            return leader_duties.writes_claimed(state), []
        case events.ClaimFailed():
            return leader_duties.claim_failed(state, event)
        case events.ClaimDue():
            return leader_duties.claim_due(state), []
        case events.WriteDone():
            return leader_duties.write_done(state, event)
        case events.WriteFailed():
            return leader_duties.write_failed(state, event)
        case events.FencingDone():
            return zombie_fencing.fencing_done(state, event), []
        case events.FencingFailed():
            return zombie_fencing.fencing_failed(state, event)
        case events.FencingDue(connector=connector):
            return zombie_fencing.fencing_due(state, connector), []
        case events.FencingRequested():
            return fencing_requests.fencing_requested(state, event), []
        case events.FencingAnswered():
            return fencing_requests.fencing_answered(state, event)
        case events.FencingAskDue(connector=connector):
            return fencing_requests.fencing_ask_due(state, connector), []
        case events.FailureSeen():
            return task_restarts.failure_seen(state)
        case events.FailuresDue(number=number):
            return task_restarts.failures_due(state, number)
        case events.FailuresRead():
            return task_restarts.failures_read(state, event)
        case events.SessionKeyExpired():
            return leader_duties.session_key_expired(state, event), []
        case events.StrayStatusSeen():
            return replace(state, sweep=True), []
        case events.SweepEnded():
            return leader_duties.sweep_ended(state, event)
    return _apply_offsets(state, event)


def _apply_offsets(state: HerderState, event: HerderEvent) -> Transition:
    match event:
        case events.OffsetsRequested(wanted=wanted):
            return offset_duties.offsets_requested(state, wanted), []
        case events.OffsetsEnded():
            return offset_duties.offsets_ended(state, event)
        case events.RemovedOffsetsGone(name=name, error=error):
            return offset_duties.removed_offsets_gone(state, name, error)
        case events.RemovedOffsetsStay(name=name, error=error):
            return offset_duties.removed_offsets_stay(state, name, error)
        case events.RemovedOffsetsDue(name=name):
            return offset_duties.removed_offsets_due(state, name), []
    raise AssertionError(f"no rule for {event}")


def _stores_started(state: HerderState, first: events.ConfigUpdated) -> Transition:
    if state.phase is not Phase.STARTING:
        return state, []
    return replace(rebalance.config_updated(state, first), phase=Phase.ACTIVE), [Join()]


@unless_settled(
    lambda state: (
        *(state.config, state.types, state.leadership.fencing_requests, state.leadership.offset_requests),
        state.exactly_once,
    )
)
def _reconcile_types(state: HerderState) -> Transition:
    """Find out the types of connectors that may have to be fenced.

    Only sources are fenced. Their classes are imported on another thread than the herder's.
    """
    configs = state.config.connector_configs
    asked = {name for _, name in state.leadership.fencing_requests}
    asked |= {wanted.name for wanted in state.leadership.offset_requests}
    known = {
        config.get(CONNECTOR_CLASS) or "" for name, config in configs.items() if state.exactly_once or name in asked
    }
    unknown = sorted(known - state.types.keys())
    if not unknown:
        return state, []
    return replace(state, types={**state.types, **dict.fromkeys(unknown)}), [FindType(name) for name in unknown]


def _reconcile_duties(state: HerderState) -> Transition:
    """Serve the requests of users and other workers to the leader; a follower refuses or forwards them."""
    return _reconcile(state, _DUTY_RECONCILERS)


def _reconcile_health(state: HerderState) -> Transition:
    """Answer health checks once this worker is in its group: outside of it, it can serve no request."""
    if state.membership is None or not state.health_asked:
        return state, []
    return replace(state, health_asked=()), [Reply(request) for request in state.health_asked]


def _reconcile_end(state: HerderState) -> Transition:
    """End a herder that is to stop once nothing runs here any more."""
    if state.phase is Phase.STOPPING and not state.connectors and not state.tasks:
        return replace(state, phase=Phase.STOPPED), [Leave()]
    return state, []


_DUTY_RECONCILERS: tuple[Reconciler, ...] = (
    zombie_fencing.reconcile_fencing,
    offset_duties.reconcile_offset_requests,
    offset_duties.reconcile_removed_offsets,
    fencing_requests.reconcile_fencing_requests,
    leader_duties.reconcile_session_key,
    leader_duties.reconcile_sweep,
    task_restarts.reconcile_watch,
)

_RECONCILERS: tuple[Reconciler, ...] = (
    config_lag.reconcile_lag,
    rebalance.reconcile_membership,
    _reconcile_types,
    local_work.reconcile_connectors,
    local_work.reconcile_tasks,
    fencing_requests.reconcile_asks,
    leader_duties.reconcile_privileges,
    _reconcile_duties,
    leader_duties.reconcile_writes,
    awaited_work.reconcile_starts,
    awaited_work.reconcile_removals,
    _reconcile_health,
    _reconcile_end,
)
