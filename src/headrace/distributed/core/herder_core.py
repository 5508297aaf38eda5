# SPDX-License-Identifier: Apache-2.0
"""The herder's decisions, as one pure function of what it knows and what it hears."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.distributed.core import (
    config_lag,
    fencing_requests,
    key_rotation,
    leader_duties,
    offset_duties,
    own_work,
    rebalance,
)
from headrace.distributed.core import herder_events as events
from headrace.distributed.core.herder_actions import (
    FindType,
    HerderAction,
    Join,
    Leave,
    PlanRestart,
    Rejoin,
    Reply,
)
from headrace.distributed.core.herder_events import HerderEvent
from headrace.distributed.core.herder_state import HerderState, Phase

Settled = tuple[HerderState, list[HerderAction]]


def step(state: HerderState, event: HerderEvent) -> Settled:
    """The state after ``event``, and what is to be done about it, in order.

    First the event's fact is taken over, then everything that runs or waits is brought in line with all known facts.
    """
    state, actions = _absorb(state, event)
    state, more = _settle(state, _SETTLERS)
    return state, [*actions, *more]


def _settle(state: HerderState, settlers: Sequence[Callable[[HerderState], Settled]]) -> Settled:
    actions: list[HerderAction] = []
    for settle in settlers:
        state, more = settle(state)
        actions += more
    return state, actions


def _absorb(state: HerderState, event: HerderEvent) -> Settled:
    match event:
        case events.StoresStarted(config=config):
            return _stores_started(state, events.ConfigUpdated(config))
        case events.ConfigUpdated():
            return rebalance.config_updated(state, event), []
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
    return _absorb_own_work(state, event)


def _absorb_own_work(state: HerderState, event: HerderEvent) -> Settled:
    match event:
        case events.ConnectorStarted(name=name):
            return own_work.connector_started(state, name), []
        case events.ConnectorFailed(name=name):
            return own_work.connector_failed(state, name), []
        case events.ConnectorStopped(name=name):
            return own_work.connector_stopped(state, name), []
        case events.ReconfigurationRequested(name=name):
            return own_work.reconfiguration_requested(state, name), []
        case events.TaskConfigsComputed():
            return own_work.task_configs_computed(state, event), []
        case events.TaskConfigsFailed(name=name):
            return own_work.task_configs_failed(state, name)
        case events.TaskConfigsPublished(name=name):
            return own_work.task_configs_published(state, name), []
        case events.PublicationFailed(name=name):
            return own_work.publication_failed(state, name)
        case events.TasksStopped(ids=ids):
            return own_work.tasks_stopped(state, ids), []
        case events.RestartRequested(name=name, only_failed=only_failed, include_tasks=include_tasks):
            return state, [PlanRestart(name, only_failed, include_tasks)]
        case events.RestartPlanned():
            return own_work.restart_planned(state, event), []
    return _absorb_leadership(state, event)


def _absorb_leadership(state: HerderState, event: HerderEvent) -> Settled:
    match event:
        case events.WriteRequested(write=write):
            return leader_duties.enqueue(state, write), []
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
            return leader_duties.fencing_done(state, event), []
        case events.FencingFailed():
            return leader_duties.fencing_failed(state, event)
        case events.FencingDue(connector=connector):
            return leader_duties.fencing_due(state, connector), []
        case events.FencingRequested():
            return fencing_requests.fencing_requested(state, event), []
        case events.FencingAnswered():
            return fencing_requests.fencing_answered(state, event)
        case events.FencingAskDue(connector=connector):
            return fencing_requests.fencing_ask_due(state, connector), []
        case events.SessionKeyExpired():
            return key_rotation.session_key_expired(state, event), []
        case events.StrayStatusSeen():
            return replace(state, sweep=True), []
        case events.SweepEnded():
            return leader_duties.sweep_ended(state, event)
    return _absorb_offsets(state, event)


def _absorb_offsets(state: HerderState, event: HerderEvent) -> Settled:
    match event:
        case events.OffsetsRequested(wanted=wanted):
            return offset_duties.requested(state, wanted), []
        case events.OffsetsEnded():
            return offset_duties.ended(state, event)
        case events.RemovedOffsetsGone(name=name):
            return offset_duties.removed_offsets_gone(state, name), []
        case events.RemovedOffsetsStay(name=name):
            return offset_duties.removed_offsets_stay(state, name)
        case events.RemovedOffsetsDue(name=name):
            return offset_duties.removed_offsets_due(state, name), []
    raise AssertionError(f"no rule for {event}")


def _stores_started(state: HerderState, first: events.ConfigUpdated) -> Settled:
    if state.phase is not Phase.STARTING:
        return state, []
    return replace(rebalance.config_updated(state, first), phase=Phase.ACTIVE), [Join()]


def _settle_types(state: HerderState) -> Settled:
    """Only source connectors are fenced, and which class is one is found out away from the herder's thread."""
    configs = state.config.connector_configs
    asked = {name for _, name in state.leadership.fencing_requests}
    asked |= {wanted.name for wanted in state.leadership.offset_requests}
    known = {
        config.get(CONNECTOR_CLASS) or "" for name, config in configs.items() if state.exactly_once or name in asked
    }
    unknown = sorted(known - state.types.keys())
    return replace(state, types={**state.types, **dict.fromkeys(unknown)}), [FindType(name) for name in unknown]


def _settle_duties(state: HerderState) -> Settled:
    """What the leader owes to others; a follower passes it on to the leader, or leaves it."""
    return _settle(state, _DUTIES)


def _settle_health(state: HerderState) -> Settled:
    """A worker outside of its group runs nothing, and can tell nobody who does."""
    if state.membership is None or not state.health_asked:
        return state, []
    return replace(state, health_asked=()), [Reply(request) for request in state.health_asked]


def _settle_end(state: HerderState) -> Settled:
    """A herder that is to end ends once nothing runs here any more."""
    if state.phase is Phase.STOPPING and not state.connectors and not state.tasks:
        return replace(state, phase=Phase.STOPPED), [Leave()]
    return state, []


_DUTIES: tuple[Callable[[HerderState], Settled], ...] = (
    leader_duties.settle_fencing,
    offset_duties.settle_offset_requests,
    offset_duties.settle_removed_offsets,
    fencing_requests.settle_fencing_requests,
    key_rotation.settle_session_key,
    leader_duties.settle_sweep,
)

_SETTLERS: tuple[Callable[[HerderState], Settled], ...] = (
    config_lag.settle_lag,
    rebalance.settle_membership,
    _settle_types,
    own_work.settle_connectors,
    own_work.settle_tasks,
    fencing_requests.settle_asks,
    leader_duties.settle_privileges,
    _settle_duties,
    leader_duties.settle_writes,
    _settle_health,
    _settle_end,
)
