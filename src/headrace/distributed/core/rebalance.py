# SPDX-License-Identifier: Apache-2.0
"""The herder's core, part 1: what a membership and the config topic mean for each other."""

from __future__ import annotations

from dataclasses import replace

from headrace.distributed.core import config_lag
from headrace.distributed.core.herder_actions import CatchUp, HerderAction, Later, Rejoin
from headrace.distributed.core.herder_events import Assigned, ConfigUpdated, RejoinDue, SessionLost
from headrace.distributed.core.herder_state import HerderState, Membership, Phase
from headrace.model.assignment import AssignmentError
from headrace.model.cluster_config_state import ClusterConfigState


def config_updated(state: HerderState, event: ConfigUpdated) -> HerderState:
    """Takes over a newer view of the config topic."""
    if event.config.offset < state.config.offset:
        return state
    old, new = state.config, event.config
    unapplied = set(state.unapplied)
    for name in event.connectors:
        if new.connector_config(name) != old.connector_config(name):
            unapplied.add(name)
    unapplied.difference_update(event.tasks)
    connectors = dict(state.connectors)
    for name in set(event.connectors) & connectors.keys():
        connectors[name] = replace(connectors[name], stale=True)
    same_connectors = old.connector_configs.keys() == new.connector_configs.keys()
    moved = not same_connectors or old.task_config_offsets != new.task_config_offsets
    return replace(
        state,
        config=new,
        connectors=connectors,
        unapplied=frozenset(unapplied & new.connector_configs.keys()),
        topology_offset=new.offset if moved else state.topology_offset,
        sweep=state.sweep or _shrunk(old, new),
    )


def _shrunk(old: ClusterConfigState, new: ClusterConfigState) -> bool:
    """Whether a connector or a task is gone, whose status has to go as well."""
    gone = old.connector_configs.keys() - new.connector_configs.keys()
    return bool(gone) or any(new.task_counts.get(name, 0) < count for name, count in old.task_counts.items())


def assigned(state: HerderState, event: Assigned) -> tuple[HerderState, list[HerderAction]]:
    """Takes over an assignment; one that failed because this or another worker lags behind is asked for again."""
    assignment = event.assignment
    state = replace(state, heard=event.number)
    if state.stepping_out:  # it comes too late: all that runs here is being stopped
        return state, []
    state, timer = config_lag.measure(state, event)
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
    # Nobody may have looked for stray statuses while the former leader was on its way out.
    leads_now = membership.is_leader and not state.is_leader
    state = replace(state, membership=membership, rejoining=False, sweep=state.sweep or leads_now)
    delay = assignment.delay_ms / 1000
    return state, [*timer, *([Later(delay, RejoinDue(event.generation))] if delay > 0 else [])]


def session_lost(state: HerderState, event: SessionLost) -> HerderState:
    """Without a session nothing is owned, so everything gets stopped (invariant 10)."""
    return replace(state, membership=None, rejoining=False, lag=None, heard=event.number)


def rejoin_due(state: HerderState, generation: int) -> tuple[HerderState, list[HerderAction]]:
    """A delay counts for its own generation: each assignment says anew whether and when to join again (KIP-415)."""
    membership = state.membership
    if membership is None or membership.generation != generation or state.phase is not Phase.ACTIVE:
        return state, []
    return replace(state, rejoining=True), [Rejoin()]


def settle_membership(state: HerderState) -> tuple[HerderState, list[HerderAction]]:
    """Asks for a rebalance if the last one did not know of the newest connectors and tasks; reads up if behind it.

    Also once everything that was revoked is stopped: nobody gets it before this worker has joined without it.
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
    return _settle_revocation(state, membership)


def _settle_revocation(state: HerderState, membership: Membership) -> tuple[HerderState, list[HerderAction]]:
    connectors, tasks = membership.revoked_connectors, membership.revoked_tasks
    if not (connectors or tasks) or connectors & state.connectors.keys() or tasks & state.tasks.keys():
        return state, []
    given_up = replace(membership, revoked_connectors=frozenset(), revoked_tasks=frozenset())
    state = replace(state, membership=given_up)
    # Nobody waits for what does not exist any more.
    if not any(state.config.contains(name) for name in {*connectors, *(id.connector for id in tasks)}):
        return state, []
    return replace(state, rejoining=True), [Rejoin()]
