# SPDX-License-Identifier: Apache-2.0
"""The herder's core: the conditions under which the leader changes a connector's offsets (KIP-875).

The connector is stopped, no work is about to move, and its former tasks can write no more. While a change is under way
nothing else is written about the connector (``leader_duties``), so that it stays stopped.
"""

from __future__ import annotations

from headrace.herder.core.awaited_work import removal_failed
from headrace.herder.core.config_writes import OffsetsRequest, PutOffsetsDeleted, subject
from headrace.herder.core.herder_actions import (
    ChangeOffsets,
    DeleteRemovedOffsets,
    HerderAction,
    Later,
    Reply,
    Transition,
)
from headrace.herder.core.herder_events import OffsetsEnded, RemovedOffsetsDue
from headrace.herder.core.herder_state import HerderState, Phase, Privileges
from headrace.herder.core.leader_duties import refusal
from headrace.herder.core.zombie_fencing import begin_round, lacks_record
from headrace.herder.errors import BadRequestError, NotFoundError, RebalanceNeededError
from headrace.model.state import TargetState

_RETRY = 5.0
"""Seconds until the offsets of a connector that was removed with them are tried again: members may have to time out."""


def offsets_requested(state: HerderState, wanted: OffsetsRequest) -> HerderState:
    """Queue a request."""
    return state.with_leadership(offset_requests=(*state.leadership.offset_requests, wanted))


def offsets_ended(state: HerderState, event: OffsetsEnded) -> Transition:
    """Answer the request with the result of its change."""
    state = state.with_leadership(changing_offsets=state.leadership.changing_offsets - {event.wanted.name})
    return state, [Reply(event.wanted.request, event.error, result=event.result)]


def removed_offsets_gone(state: HerderState, name: str, error: Exception | None = None) -> Transition:
    """Enqueue the record of the deletion: no later leader repeats it, and the connector may be created again."""
    state, replies = (state, []) if error is None else removal_failed(state, name, error)
    return state.with_write(PutOffsetsDeleted(name)), replies


def removed_offsets_stay(state: HerderState, name: str, error: Exception | None) -> Transition:
    """Try the deletion again later."""
    state, replies = (state, []) if error is None else removal_failed(state, name, error)
    return state, [*replies, Later(_RETRY, RemovedOffsetsDue(name))]


def removed_offsets_due(state: HerderState, name: str) -> HerderState:
    """Allow another attempt at the deletion."""
    return state.with_leadership(deleting_offsets=state.leadership.deleting_offsets - {name})


def reconcile_offset_requests(state: HerderState) -> Transition:
    """Answer or begin each request that need not wait any longer."""
    actions: list[HerderAction] = []
    for wanted in state.leadership.offset_requests:
        if state.alone and _is_unsettled(state, wanted.name):
            continue
        answer = _refusal(state, wanted)
        if answer is None and not _is_busy(state, wanted.name):
            state, fencing = _fence(state, wanted)
            actions += fencing
            if not _awaits_round(state, wanted):
                answer = ChangeOffsets(wanted, state.config.connector_configs[wanted.name])
                state = state.with_leadership(changing_offsets=state.leadership.changing_offsets | {wanted.name})
        if answer is not None:
            rest = tuple(each for each in state.leadership.offset_requests if each is not wanted)
            state = state.with_leadership(offset_requests=rest)
            actions.append(answer)
    return state, actions


def reconcile_removed_offsets(state: HerderState) -> Transition:
    """Delete the offsets of connectors that were removed with them, once their tasks have ended."""
    if state.leadership.privileges is not Privileges.HELD or state.rebalance_pending:
        return state, []
    actions: list[HerderAction] = []
    for name, removed in sorted(state.config.removed_offsets.items()):
        if name in state.leadership.deleting_offsets or any(id.connector == name for id in state.tasks):
            continue
        state = state.with_leadership(deleting_offsets=state.leadership.deleting_offsets | {name})
        if state.config.contains(name):
            # A worker that knows no such records has created it again: the offsets belong to the new connector.
            state, _ = removed_offsets_gone(state, name)
        else:
            actions.append(DeleteRemovedOffsets(name, removed.config, removed.producers))
    return state, actions


def _is_unsettled(state: HerderState, name: str) -> bool:
    """Return True while it is not known what of the connector continues here, or its tasks are still stopping."""
    return state.phase is not Phase.ACTIVE or state.rebalance_pending or state.is_stopping(name)


def _refusal(state: HerderState, wanted: OffsetsRequest) -> HerderAction | None:
    if state.phase is not Phase.ACTIVE or state.rebalance_pending:
        waiting = RebalanceNeededError("Cannot change offsets now: a rebalance is in progress, try again later")
        return Reply(wanted.request, waiting)
    if not state.is_leader:
        return refusal(state, wanted.request)
    error = _change_error(state, wanted.name)
    return None if error is None else Reply(wanted.request, error)


def _change_error(state: HerderState, name: str) -> Exception | None:
    config = state.config
    if not config.contains(name):
        return NotFoundError(f"Connector {name} not found")
    if config.target_state(name) is not TargetState.STOPPED or config.task_counts.get(name, 0):
        return BadRequestError(
            f"Connector {name} must be STOPPED before its offsets can be changed; PUT /connectors/{name}/stop stops it"
        )
    if any(id.connector == name for id in state.tasks):
        return RebalanceNeededError(f"The tasks of connector {name} are still stopping, try again later")
    return None


def _is_busy(state: HerderState, name: str) -> bool:
    """Return True while another change is under way, or a write that may resume the connector."""
    if name in state.leadership.changing_offsets:
        return True
    return any(subject(write) == name for write in state.leadership.writing)


def _awaits_round(state: HerderState, wanted: OffsetsRequest) -> bool:
    """Return True if former tasks may still write: no task count record follows the stop or deletion (invariant 6).

    An earlier task count record proves that there were exactly-once tasks, even if this leader has them switched off:
    workers may switch it on one by one (KIP-618, *Upgrading*).
    """
    return (
        not wanted.change.dry_run
        and (state.exactly_once or bool(state.config.task_count_records.get(wanted.name)))
        and lacks_record(state.config, wanted.name)
        and state.type_of(wanted.name) in ("source", None)
    )


def _fence(state: HerderState, wanted: OffsetsRequest) -> Transition:
    """Begin the round of zombie fencing that a change waits for, of all producers that there may be (KIP-618)."""
    name = wanted.name
    if (
        not _awaits_round(state, wanted)
        or state.type_of(name) is None
        or state.leadership.privileges is not Privileges.HELD
        or state.leadership.fencing.get(name) == state.config.generation(name)
    ):
        return state, []
    return begin_round(state, name, state.config.task_count_records.get(name, 0))
