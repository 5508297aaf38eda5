# SPDX-License-Identifier: Apache-2.0
"""The herder's core, part 3: what only the leader does. It alone writes the config topic (invariant 7).

Writes stand in one queue and are made one at a time; each is judged when its turn comes, by a state that holds all
writes before it. So there is no race between two creations, or between new task configs and a task count record.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.distributed.config_writes import (
    ConfigWrite,
    PutConnector,
    PutTargetState,
    PutTaskConfigs,
    PutTaskCount,
    RemoveConnector,
)
from headrace.distributed.herder_actions import (
    ClaimWrites,
    Fence,
    HerderAction,
    Later,
    RefuseNotLeader,
    ReleaseWrites,
    Reply,
    Write,
)
from headrace.distributed.herder_events import (
    ClaimDue,
    FencingDone,
    FencingDue,
    ReconfigurationRequested,
    WriteDone,
    WriteFailed,
)
from headrace.distributed.herder_state import HerderState, Leadership, Phase, Privileges
from headrace.distributed.zombie_fencing import producers_to_fence, rounds_due
from headrace.herder.errors import AlreadyExistsError, NotFoundError

_RETRY = 1.0
"""Seconds until a claim, a round of fencing or a write of the herder's own is tried again."""

Settled = tuple[HerderState, list[HerderAction]]


def enqueue(state: HerderState, write: ConfigWrite) -> HerderState:
    return _lead(state, queue=(*state.leadership.queue, write))


def writes_claimed(state: HerderState) -> HerderState:
    if state.leadership.privileges is Privileges.CLAIMING:
        return _lead(state, privileges=Privileges.HELD)
    return state


def claim_failed(state: HerderState) -> Settled:
    if state.leadership.privileges is not Privileges.CLAIMING:
        return state, []
    return _lead(state, privileges=Privileges.WAITING), [Later(_RETRY, ClaimDue())]


def claim_due(state: HerderState) -> HerderState:
    if state.leadership.privileges is Privileges.WAITING:
        return _lead(state, privileges=Privileges.NONE)
    return state


def write_done(state: HerderState, event: WriteDone) -> Settled:
    state = _lead(state, writing=None)
    match event.write:
        case PutConnector(request=request):
            return state, [Reply(request, created=not event.write.replaces)]
        case RemoveConnector(request=request) | PutTargetState(request=request):
            return state, [Reply(request)]
        case PutTaskCount(name=name):
            return _lead(state, fencing=_without(state.leadership, name)), []
    return state, []


def write_failed(state: HerderState, event: WriteFailed) -> Settled:
    """A leader claims the topic anew after any error, for its producer is gone (invariant 5).

    One that was fenced and still leads repeats the write; other errors go to who asked.
    """
    state = _lead(state, writing=None, privileges=Privileges.WAITING)
    actions: list[HerderAction] = [Later(_RETRY, ClaimDue())]
    if event.fenced:
        return _lead(state, queue=(event.write, *state.leadership.queue)), actions
    match event.write:
        case PutTaskConfigs(name=name):
            actions.append(Later(_RETRY, ReconfigurationRequested(name)))
        case PutTaskCount(name=name):
            actions.append(Later(_RETRY, FencingDue(name)))
        case PutConnector(request=request) | RemoveConnector(request=request) | PutTargetState(request=request):
            actions.append(Reply(request, event.error))
    return state, actions


def fencing_done(state: HerderState, event: FencingDone) -> HerderState:
    if state.leadership.fencing.get(event.connector) != event.generation:
        return state
    return enqueue(state, _task_count(state, event.connector, event.generation))


def fencing_failed(connector: str) -> list[HerderAction]:
    return [Later(_RETRY, FencingDue(connector))]


def fencing_due(state: HerderState, connector: str) -> HerderState:
    return _lead(state, fencing=_without(state.leadership, connector))


def settle_privileges(state: HerderState) -> Settled:
    """Claims the config topic on becoming the leader, lets go of it on ceasing to be."""
    privileges = state.leadership.privileges
    leads = state.is_leader and state.phase is Phase.ACTIVE
    if leads and privileges is Privileges.NONE:
        return _lead(state, privileges=Privileges.CLAIMING), [ClaimWrites()]
    if not leads and privileges is not Privileges.NONE:
        return _lead(state, privileges=Privileges.NONE, fencing={}), [ReleaseWrites()]
    return state, []


def settle_fencing(state: HerderState) -> Settled:
    """Begins the rounds of zombie fencing that are due; a round with nothing to fence is its record alone."""
    if state.leadership.privileges is not Privileges.HELD:
        return state, []
    actions: list[HerderAction] = []
    for name in rounds_due(state):
        generation = state.config.task_config_offsets[name]
        state = _lead(state, fencing={**state.leadership.fencing, name: generation})
        producers = producers_to_fence(state.config, name)
        if producers:
            actions.append(Fence(name, generation, producers, state.config.connector_configs[name]))
        else:
            state = enqueue(state, _task_count(state, name, generation))
    return state, actions


def settle_writes(state: HerderState) -> Settled:
    """Takes writes off the queue until one has to be waited for."""
    actions: list[HerderAction] = []
    while state.leadership.queue and state.leadership.writing is None and state.membership is not None:
        head, *rest = state.leadership.queue
        if state.is_leader and state.leadership.privileges is not Privileges.HELD:
            break
        state = _lead(state, queue=tuple(rest))
        action = _judge(state, head)
        if isinstance(action, Write):
            state = _lead(state, writing=action.write)
        if action is not None:
            actions.append(action)
    return state, actions


def _judge(state: HerderState, write: ConfigWrite) -> HerderAction | None:
    if not state.is_leader:
        return _refuse(state, write)
    match write:
        case PutConnector(request=request, name=name):
            exists = state.config.contains(name)
            if exists and not write.allow_replace:
                return Reply(request, AlreadyExistsError(f"Connector {name} already exists"))
            return Write(replace(write, replaces=exists))
        case RemoveConnector(request=request, name=name) | PutTargetState(request=request, name=name):
            if not state.config.contains(name):
                return Reply(request, NotFoundError(f"Connector {name} not found"))
            return Write(write)
        case PutTaskConfigs():
            return Write(write) if _task_configs_changed(state, write) else None
        case PutTaskCount(name=name, generation=generation):
            current = state.config.task_config_offsets.get(name) == generation
            return Write(write) if current and name in state.config.pending_fencing else None


def _refuse(state: HerderState, write: ConfigWrite) -> HerderAction | None:
    match write:
        case PutConnector(request=request) | RemoveConnector(request=request) | PutTargetState(request=request):
            assert state.membership is not None
            return RefuseNotLeader(request, state.membership.leader_url)
        case _:
            return None


def _task_configs_changed(state: HerderState, write: PutTaskConfigs) -> bool:
    """Also when only the connector's own config did: converters and transformations are read from there."""
    if not state.config.contains(write.name):
        return False
    written = [dict(config) for config in state.config.all_task_configs(write.name)]
    return (
        write.name in state.unapplied
        or write.name in state.config.inconsistent
        or written != [dict(config) for config in write.configs]
    )


def _task_count(state: HerderState, connector: str, generation: int) -> PutTaskCount:
    return PutTaskCount(connector, generation, len(state.config.tasks(connector)))


def _without(leadership: Leadership, connector: str) -> dict[str, int]:
    return {name: generation for name, generation in leadership.fencing.items() if name != connector}


def _lead(state: HerderState, **changes: object) -> HerderState:
    return replace(state, leadership=replace(state.leadership, **changes))  # type: ignore[arg-type]
