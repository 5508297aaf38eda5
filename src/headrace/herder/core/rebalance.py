# SPDX-License-Identifier: Apache-2.0
"""The herder's core: this worker's membership of the group, and the config topic that assignments rest on."""

from __future__ import annotations

from dataclasses import replace

from headrace.herder.core import config_lag
from headrace.herder.core.herder_actions import CatchUp, Later, Rejoin, Transition
from headrace.herder.core.herder_events import Assigned, ConfigUpdated, RejoinDue, SessionLost
from headrace.herder.core.herder_state import HerderState, Membership, Phase
from headrace.model.assignment import AssignmentError
from headrace.model.cluster_config_state import ClusterConfigState


def config_updated(state: HerderState, event: ConfigUpdated) -> HerderState:
    """Take over a newer view of the config topic."""
    if event.config.offset < state.config.offset:
        return state
    old, new = state.config, event.config
    unapplied = set(state.unapplied)
    for name in event.connectors:
        if new.connector_config(name) != old.connector_config(name):
            unapplied.add(name)
    unapplied.difference_update(event.tasks)
    stale = {
        name: replace(state.connectors[name], stale=True) for name in set(event.connectors) & state.connectors.keys()
    }
    same_connectors = old.connector_configs.keys() == new.connector_configs.keys()
    moved = not same_connectors or old.task_config_offsets != new.task_config_offsets
    return replace(
        state,
        config=new,
        connectors={**state.connectors, **stale} if stale else state.connectors,
        unapplied=frozenset(unapplied & new.connector_configs.keys()),
        topology_offset=new.offset if moved else state.topology_offset,
        sweep=state.sweep or _has_shrunk(old, new),
    )


def _has_shrunk(old: ClusterConfigState, new: ClusterConfigState) -> bool:
    """Return True if a connector or a task was removed, so that its status has to be removed as well."""
    gone = old.connector_configs.keys() - new.connector_configs.keys()
    changed = old.task_counts.items() - new.task_counts.items()
    return bool(gone) or any(new.task_counts.get(name, 0) < count for name, count in changed)


def assigned(state: HerderState, event: Assigned) -> Transition:
    """Take over an assignment; join again if the round failed because this or another worker lags behind."""
    assignment = event.assignment
    state = replace(state, last_membership_event=event.number)
    if state.stepping_out:  # it comes too late: all that runs here is being stopped
        return state, []
    state, timer = config_lag.start_lag(state, event)
    if assignment.error is AssignmentError.CONFIG_MISMATCH:
        return replace(state, rejoining=True), [CatchUp(rejoin=True), *timer]
    membership = Membership(
        generation=event.generation,
        member_id=event.member_id,
        leader_id=assignment.leader,
        leader_url=assignment.leader_url,
        config_offset=assignment.config_offset,
        connectors=frozenset(assignment.connectors),
        tasks=frozenset(assignment.tasks),
        sessioned=event.sessioned,
        revoked_connectors=frozenset(assignment.revoked_connectors),
        revoked_tasks=frozenset(assignment.revoked_tasks),
    )
    # The former leader may not have swept stray statuses any more while it was leaving.
    leads_now = membership.is_leader and not state.is_leader
    state = replace(state, membership=membership, joined=True, rejoining=False, sweep=state.sweep or leads_now)
    delay = assignment.delay_ms / 1000
    return state, [*timer, *([Later(delay, RejoinDue(event.generation))] if delay > 0 else [])]


def session_lost(state: HerderState, event: SessionLost) -> HerderState:
    """Give up all work: without a session this worker owns nothing (invariant 10)."""
    return replace(state, membership=None, rejoining=False, lag=None, last_membership_event=event.number)


def rejoin_due(state: HerderState, generation: int) -> Transition:
    """Join again after the delay of the present generation; those of older ones count no more (KIP-415)."""
    membership = state.membership
    if membership is None or membership.generation != generation or state.phase is not Phase.ACTIVE:
        return state, []
    return replace(state, rejoining=True), [Rejoin()]


def reconcile_membership(state: HerderState) -> Transition:
    """Request a rebalance if the last one did not include the newest connectors and tasks.

    Another one is due once all revoked work is stopped: no worker gets it before this one has joined without it. A
    worker that lags behind its assignment reads the config topic first.
    """
    membership = state.membership
    if membership is None or state.phase is not Phase.ACTIVE:
        return state, []
    if not state.in_step:
        if state.catching_up:
            return state, []
        return replace(state, catching_up=True), [CatchUp(rejoin=False)]
    if membership.config_offset < state.topology_offset and not state.rejoining:
        return replace(state, rejoining=True), [Rejoin()]
    return _reconcile_revocation(state, membership)


def _reconcile_revocation(state: HerderState, membership: Membership) -> Transition:
    connectors, tasks = membership.revoked_connectors, membership.revoked_tasks
    if not (connectors or tasks) or connectors & state.connectors.keys() or tasks & state.tasks.keys():
        return state, []
    given_up = replace(membership, revoked_connectors=frozenset(), revoked_tasks=frozenset())
    state = replace(state, membership=given_up)
    # No other worker waits for work that does not exist any more.
    if not any(state.config.contains(name) for name in {*connectors, *(id.connector for id in tasks)}):
        return state, []
    return replace(state, rejoining=True), [Rejoin()]
