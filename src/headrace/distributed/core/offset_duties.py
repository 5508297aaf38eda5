# SPDX-License-Identifier: Apache-2.0
"""The herder's core, part 6: when the leader may change a connector's offsets (KIP-875).

Only while the connector is stopped, nobody's work is about to move, and its former tasks can write no more. While a
change is under way nothing else is written about the connector (``leader_duties``), so that it stays stopped.
"""

from __future__ import annotations

from headrace.distributed.core.config_writes import OffsetsRequest, OfNoConnector, PutOffsetsDeleted
from headrace.distributed.core.herder_actions import (
    ChangeOffsets,
    DeleteRemovedOffsets,
    HerderAction,
    Later,
    Reply,
)
from headrace.distributed.core.herder_events import OffsetsEnded, RemovedOffsetsDue
from headrace.distributed.core.herder_state import HerderState, Phase, Privileges
from headrace.distributed.core.leader_duties import Settled, begin_round, enqueue, lead, refusal
from headrace.distributed.core.zombie_fencing import lacks_record
from headrace.herder.errors import BadRequestError, NotFoundError, RebalanceNeededError
from headrace.model.state import TargetState

_RETRY = 5.0
"""Seconds until the offsets of a connector that was removed with them are tried again: members may have to time out."""


def requested(state: HerderState, wanted: OffsetsRequest) -> HerderState:
    return lead(state, offset_requests=(*state.leadership.offset_requests, wanted))


def ended(state: HerderState, event: OffsetsEnded) -> Settled:
    state = lead(state, changing_offsets=state.leadership.changing_offsets - {event.wanted.name})
    return state, [Reply(event.wanted.request, event.error, result=event.result)]


def removed_offsets_gone(state: HerderState, name: str) -> HerderState:
    """Written down, so that no later leader takes the trouble again; the connector may then be created anew."""
    return enqueue(state, PutOffsetsDeleted(name))


def removed_offsets_stay(state: HerderState, name: str) -> Settled:
    return state, [Later(_RETRY, RemovedOffsetsDue(name))]


def removed_offsets_due(state: HerderState, name: str) -> HerderState:
    return lead(state, deleting_offsets=state.leadership.deleting_offsets - {name})


def settle_offset_requests(state: HerderState) -> Settled:
    """Answers or begins each request that need not wait any longer."""
    actions: list[HerderAction] = []
    for wanted in state.leadership.offset_requests:
        answer = _refusal(state, wanted)
        if answer is None and not _is_busy(state, wanted.name):
            state, fencing = _fence(state, wanted)
            actions += fencing
            if not _awaits_round(state, wanted):
                answer = ChangeOffsets(wanted, state.config.connector_configs[wanted.name])
                state = lead(state, changing_offsets=state.leadership.changing_offsets | {wanted.name})
        if answer is not None:
            rest = tuple(each for each in state.leadership.offset_requests if each is not wanted)
            state = lead(state, offset_requests=rest)
            actions.append(answer)
    return state, actions


def settle_removed_offsets(state: HerderState) -> Settled:
    """Deletes the offsets that connectors leave behind when they were removed with them, once their tasks are gone."""
    if state.leadership.privileges is not Privileges.HELD or state.rebalance_pending:
        return state, []
    actions: list[HerderAction] = []
    for name, removed in sorted(state.config.removed_offsets.items()):
        if name in state.leadership.deleting_offsets or any(id.connector == name for id in state.tasks):
            continue
        state = lead(state, deleting_offsets=state.leadership.deleting_offsets | {name})
        if state.config.contains(name):
            # A worker that knows no such records has made it anew: the offsets are the new one's.
            state = removed_offsets_gone(state, name)
        else:
            actions.append(DeleteRemovedOffsets(name, removed.config, removed.producers))
    return state, actions


def _refusal(state: HerderState, wanted: OffsetsRequest) -> HerderAction | None:
    if state.phase is not Phase.ACTIVE or state.rebalance_pending:
        waiting = RebalanceNeededError("Cannot change offsets now: a rebalance is in progress, try again later")
        return Reply(wanted.request, waiting)
    if not state.is_leader:
        return refusal(state, wanted.request)
    error = _unfit(state, wanted.name)
    return None if error is None else Reply(wanted.request, error)


def _unfit(state: HerderState, name: str) -> Exception | None:
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
    """Another change is under way, or a write that may end the connector's stop."""
    writing = state.leadership.writing
    if name in state.leadership.changing_offsets:
        return True
    return writing is not None and not isinstance(writing, OfNoConnector) and writing.name == name


def _awaits_round(state: HerderState, wanted: OffsetsRequest) -> bool:
    """Whether former tasks may still write: no task count record has followed the stop, or a deletion (invariant 6).

    A former task count record says that there were exactly-once tasks, whatever this leader's own setting is: workers
    may have it switched on one by one (KIP-618, *Upgrading*).
    """
    return (
        not wanted.change.dry_run
        and (state.exactly_once or bool(state.config.task_count_records.get(wanted.name)))
        and lacks_record(state.config, wanted.name)
        and state.type_of(wanted.name) in ("source", None)
    )


def _fence(state: HerderState, wanted: OffsetsRequest) -> Settled:
    """Begins the round of zombie fencing that a change waits for, of all producers that there may be (KIP-618)."""
    name = wanted.name
    if (
        not _awaits_round(state, wanted)
        or state.type_of(name) is None
        or state.leadership.privileges is not Privileges.HELD
        or state.leadership.fencing.get(name) == state.config.generation(name)
    ):
        return state, []
    return begin_round(state, name, state.config.task_count_records.get(name, 0))
