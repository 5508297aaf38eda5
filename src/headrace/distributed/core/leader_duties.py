# SPDX-License-Identifier: Apache-2.0
"""The herder's core, part 3: what only the leader does. It alone writes the config topic (invariant 7).

Writes stand in one queue and are made one at a time; each is judged when its turn comes, by a state that holds all
writes before it. So there is no race between two creations, or between new task configs and a task count record.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.api.error_text import error_text
from headrace.api.errors import ConnectError, RetriableError
from headrace.distributed.core.config_writes import (
    OfNoConnector,
    PutConnector,
    PutLoggerLevel,
    PutOffsetsDeleted,
    PutSessionKey,
    PutTaskConfigs,
    PutTaskCount,
    PutTaskRestart,
    UserWrite,
    WriteRequest,
)
from headrace.distributed.core.herder_actions import (
    ClaimWrites,
    Fence,
    HerderAction,
    Later,
    PublishTaskConfigs,
    RefuseNotLeader,
    ReleaseWrites,
    Reply,
    SweepStatuses,
    Write,
)
from headrace.distributed.core.herder_events import (
    ClaimDue,
    ClaimFailed,
    FencingDone,
    FencingDue,
    FencingFailed,
    ReconfigurationRequested,
    RemovedOffsetsDue,
    StrayStatusSeen,
    SweepEnded,
    WriteDone,
    WriteFailed,
)
from headrace.distributed.core.herder_state import HerderState, Leadership, Phase, Privileges, RunPhase
from headrace.distributed.core.own_work import fail_starts
from headrace.distributed.core.zombie_fencing import lacks_record, producers_to_fence, rounds_due
from headrace.herder.errors import (
    AlreadyExistsError,
    BadRequestError,
    NotFoundError,
    OvertakenError,
    RemovedTaskError,
)
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState

_RETRY = 1.0
"""Seconds until a claim, a round of fencing or a write of the herder's own is tried again."""

Settled = tuple[HerderState, list[HerderAction]]


def enqueue(state: HerderState, write: WriteRequest) -> HerderState:
    return lead(state, queue=(*state.leadership.queue, write))


def writes_claimed(state: HerderState) -> HerderState:
    if state.leadership.privileges is Privileges.CLAIMING:
        return lead(state, privileges=Privileges.HELD)
    return state


def claim_failed(state: HerderState, event: ClaimFailed) -> Settled:
    """It is tried again in any case, but who waits with a request is told of what will not pass by itself."""
    if state.leadership.privileges is not Privileges.CLAIMING:
        return state, []
    state = lead(state, privileges=Privileges.WAITING)
    actions: list[HerderAction] = [Later(_RETRY, ClaimDue())]
    if event.error is None or isinstance(event.error, RetriableError):
        return state, actions
    requests = [_request_of(write) for write in state.leadership.queue]
    actions += [Reply(request, event.error) for request in requests if request is not None]
    rest = tuple(write for write in state.leadership.queue if _request_of(write) is None)
    return lead(state, queue=rest), actions


def _request_of(write: WriteRequest) -> int | None:
    """Who waits for it, None for what the herder wants of itself."""
    return None if isinstance(write, PutTaskCount | PutOffsetsDeleted | PutSessionKey) else write.request


def claim_due(state: HerderState) -> HerderState:
    if state.leadership.privileges is Privileges.WAITING:
        return lead(state, privileges=Privileges.NONE)
    return state


def write_done(state: HerderState, event: WriteDone) -> Settled:
    state = lead(state, writing=None)
    match event.write:
        case PutConnector(request=request):
            return state, [Reply(request, created=not event.write.replaces)]
        case PutTaskCount(name=name):
            return lead(state, fencing=_without(state.leadership, name)), []
        case PutTaskConfigs(request=request):
            return state, [] if request is None else [Reply(request)]
        case PutOffsetsDeleted(name=name):
            return lead(state, deleting_offsets=state.leadership.deleting_offsets - {name}), []
        case PutSessionKey():
            return state, []
        case asked:
            return state, [Reply(asked.request)]


def write_failed(state: HerderState, event: WriteFailed) -> Settled:
    """A leader claims the topic anew after any error, for its producer is gone (invariant 5).

    One that was fenced and still leads repeats the write; other errors go to who asked.
    """
    state = lead(state, writing=None, privileges=Privileges.WAITING)
    actions: list[HerderAction] = [Later(_RETRY, ClaimDue())]
    if event.fenced:
        return lead(state, queue=(event.write, *state.leadership.queue)), actions
    match event.write:
        case PutTaskConfigs(name=name, request=request):
            again = Later(_RETRY, ReconfigurationRequested(name))
            actions.append(again if request is None else Reply(request, event.error))
        case PutTaskCount(name=name):
            actions.append(Later(_RETRY, FencingDue(name)))
        case PutOffsetsDeleted(name=name):
            actions.append(Later(_RETRY, RemovedOffsetsDue(name)))
        case PutSessionKey():
            pass  # whether there is a key is looked at again once the topic is claimed anew
        case asked:
            actions.append(Reply(asked.request, event.error))
    return state, actions


def fencing_done(state: HerderState, event: FencingDone) -> HerderState:
    if state.leadership.fencing.get(event.connector) != event.generation:
        return state
    return enqueue(state, _task_count(state, event.connector, event.generation))


def fencing_failed(state: HerderState, event: FencingFailed) -> Settled:
    """Who waits with a change of offsets is told. For tasks it is tried again if that may help; else they fail."""
    name = event.connector
    if state.leadership.fencing.get(name) != event.generation:
        return state, []
    waiting = [each for each in state.leadership.offset_requests if each.name == name]
    error = event.error or RetriableError(f"The former tasks of connector {name} could not be fenced")
    actions: list[HerderAction] = [Reply(each.request, error) for each in waiting]
    rest = tuple(each for each in state.leadership.offset_requests if each not in waiting)
    state = lead(state, offset_requests=rest)
    if isinstance(error, RetriableError):
        return state, [*actions, Later(_RETRY, FencingDue(name))]
    trace = event.trace or error_text(error)
    asked = [request for request, connector in state.leadership.fencing_requests if connector == name]
    actions += [Reply(request, ConnectError(trace)) for request in asked]
    others = tuple(each for each in state.leadership.fencing_requests if each[1] != name)
    state, failed = fail_starts(fencing_due(lead(state, fencing_requests=others), name), name, trace)
    return state, [*actions, *failed]


def fencing_due(state: HerderState, connector: str) -> HerderState:
    return lead(state, fencing=_without(state.leadership, connector))


def settle_privileges(state: HerderState) -> Settled:
    """Claims the config topic on becoming the leader, lets go of it on ceasing to be."""
    privileges = state.leadership.privileges
    leads = state.is_leader and state.phase is Phase.ACTIVE
    if leads and privileges is Privileges.NONE:
        return lead(state, privileges=Privileges.CLAIMING), [ClaimWrites()]
    if not leads and privileges is not Privileges.NONE:
        return lead(state, privileges=Privileges.NONE, fencing={}, deleting_offsets=frozenset()), [ReleaseWrites()]
    return state, []


def settle_fencing(state: HerderState) -> Settled:
    """Begins the rounds of zombie fencing that are due; a round with nothing to fence is its record alone."""
    if state.leadership.privileges is not Privileges.HELD:
        return state, []
    actions: list[HerderAction] = []
    for name in rounds_due(state):
        state, more = begin_round(state, name, producers_to_fence(state.config, name))
        actions += more
    return state, actions


def begin_round(state: HerderState, name: str, producers: int) -> Settled:
    """A round of zombie fencing of a connector; it ends with the task count record."""
    generation = state.config.generation(name)
    state = lead(state, fencing={**state.leadership.fencing, name: generation})
    if producers:
        return state, [Fence(name, generation, producers, state.config.connector_configs[name])]
    return enqueue(state, _task_count(state, name, generation)), []


def settle_sweep(state: HerderState) -> Settled:
    """Has stray statuses removed, unless something that has a status is just being created, or is stopping here."""
    stopping = any(run.stopping for run in state.tasks.values()) or any(
        run.phase is RunPhase.STOPPING for run in state.connectors.values()
    )
    creating = isinstance(state.leadership.writing, PutConnector | PutTaskConfigs)
    due = state.sweep and state.leadership.privileges is Privileges.HELD and not state.leadership.sweeping
    if not due or stopping or creating:
        return state, []
    return lead(replace(state, sweep=False), sweeping=True), [SweepStatuses()]


def sweep_ended(state: HerderState, event: SweepEnded) -> Settled:
    return lead(state, sweeping=False), [Later(_RETRY, StrayStatusSeen())] if event.failed else []


def settle_writes(state: HerderState) -> Settled:
    """Takes writes off the queue until one has to be waited for."""
    actions: list[HerderAction] = []
    while state.leadership.writing is None and state.membership is not None:
        head = next((write for write in state.leadership.queue if not _on_hold(state, write)), None)
        if head is None or (state.is_leader and state.leadership.privileges is not Privileges.HELD):
            break
        at = state.leadership.queue.index(head)
        state = lead(state, queue=state.leadership.queue[:at] + state.leadership.queue[at + 1 :])
        action = _judge(state, head)
        if isinstance(action, Write):
            state = lead(state, writing=action.write)
        if action is not None:
            actions.append(action)
    return state, actions


def _on_hold(state: HerderState, write: WriteRequest) -> bool:
    """A connector is left alone while its offsets are changed, and not created anew before its old ones are gone."""
    if not state.is_leader or isinstance(write, OfNoConnector):
        return False
    if state.leadership.sweeping and isinstance(write, PutConnector | PutTaskConfigs):
        return True
    waits_for_removal = isinstance(write, PutConnector) and write.name in state.config.removed_offsets
    return waits_for_removal or write.name in state.leadership.changing_offsets


def _judge(state: HerderState, write: WriteRequest) -> HerderAction | None:
    if not state.is_leader:
        return _as_follower(state, write)
    match write:
        case PutConnector():
            return _judge_config(state, write)
        case PutTaskConfigs():
            return _judge_task_configs(state, write)
        case PutTaskCount(name=name, generation=generation):
            current = state.config.generation(name) == generation
            return Write(write) if current and lacks_record(state.config, name) else None
        case PutOffsetsDeleted(name=name):
            return Write(write) if name in state.config.removed_offsets else None
        case PutSessionKey(replaces=replaces):
            return Write(write) if state.config.session_key == replaces else None
        case PutLoggerLevel():
            return Write(write)
        case asked:
            error = _no_such(state.config, asked)
            return Write(asked) if error is None else Reply(asked.request, error)


def _judge_config(state: HerderState, write: PutConnector) -> HerderAction:
    present = state.config.connector_config(write.name)
    if present is not None and not write.allow_replace:
        return Reply(write.request, AlreadyExistsError(f"Connector {write.name} already exists"))
    if write.base is not None and present is None:
        return Reply(write.request, NotFoundError(f"Connector {write.name} not found"))
    if write.base is not None and write.base != present:
        return Reply(write.request, OvertakenError(f"Connector {write.name} has been given another configuration"))
    return Write(replace(write, replaces=present is not None))


def _judge_task_configs(state: HerderState, write: PutTaskConfigs) -> HerderAction | None:
    changed = _task_configs_changed(state, write)
    if write.request is None:
        return Write(write) if changed else None
    if not state.config.contains(write.name):
        return Reply(write.request, NotFoundError(f"Connector {write.name} not found"))
    if write.configs and state.config.target_state(write.name) is TargetState.STOPPED:
        return Reply(write.request, BadRequestError(f"Connector {write.name} is stopped and so can have no tasks"))
    return Write(write) if changed else Reply(write.request)


def _as_follower(state: HerderState, write: WriteRequest) -> HerderAction | None:
    """Requests are refused; what a connector of this worker has made for its tasks goes to the leader."""
    assert state.membership is not None
    match write:
        case PutTaskConfigs(request=request):
            if request is not None:
                return refusal(state, request)
            publish = PublishTaskConfigs(write.name, write.configs, state.membership.leader_url)
            return publish if _task_configs_changed(state, write) else None
        case PutTaskCount() | PutOffsetsDeleted() | PutSessionKey():
            return None
        case asked:
            return refusal(state, asked.request)


def _no_such(config: ClusterConfigState, write: UserWrite) -> ConnectError | None:
    if not config.contains(write.name):
        return NotFoundError(f"Connector {write.name} not found")
    if not isinstance(write, PutTaskRestart):
        return None
    id = ConnectorTaskId(write.name, write.task)
    if id in config.tasks(write.name):
        return None
    if config.task_config(id) is None:
        return NotFoundError(f"Unknown task: {id}")
    return RemovedTaskError(
        f"Task {id} does not exist any more: connector {write.name} {_tasks_now(config, write.name)}"
    )


def _tasks_now(config: ClusterConfigState, name: str) -> str:
    target, count = config.target_state(name) or TargetState.STARTED, len(config.tasks(name))
    if target is not TargetState.STARTED and not count:
        return f"is {target.value} and has no tasks until it is resumed"
    return f"is {target.value} and has {count} task{'' if count == 1 else 's'}"


def refusal(state: HerderState, request: int) -> RefuseNotLeader:
    """The answer of a worker that is not the leader."""
    assert state.membership is not None
    return RefuseNotLeader(request, state.membership.leader_url)


def _task_configs_changed(state: HerderState, write: PutTaskConfigs) -> bool:
    """Also when only the connector's own config did: converters and transformations are read from there.

    A connector that was stopped while it made them has no tasks (KIP-875).
    """
    if state.config.target_state(write.name) in (None, TargetState.STOPPED):
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


def lead(state: HerderState, **changes: object) -> HerderState:
    """The state with ``changes`` of its leadership."""
    return replace(state, leadership=replace(state.leadership, **changes))  # type: ignore[arg-type]
