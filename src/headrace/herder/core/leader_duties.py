# SPDX-License-Identifier: Apache-2.0
"""The herder's core: the leader's duties. The leader alone writes the config topic (invariant 7).

Writes wait in one queue. Those of one subject are made one at a time; each is checked when its turn comes, against a
state that includes all writes of the subject before it. So there is no race between two creations, or between new task
configs and a task count record. Writes of several subjects are made at the same time, and may share a transaction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headrace.api.errors import ConnectError, RetriableError
from headrace.herder.core import awaited_work, task_restarts
from headrace.herder.core.config_writes import (
    OfNoConnector,
    PutAutomaticRestart,
    PutConnector,
    PutLoggerLevel,
    PutOffsetsDeleted,
    PutSessionKey,
    PutTaskConfigs,
    PutTaskCount,
    PutTaskRestart,
    RemoveConnector,
    UserWrite,
    WriteRequest,
    subject,
)
from headrace.herder.core.herder_actions import (
    ClaimWrites,
    HerderAction,
    Later,
    PublishTaskConfigs,
    RefuseNotLeader,
    ReleaseWrites,
    Reply,
    SweepStatuses,
    Transition,
    WatchSessionKey,
    Write,
)
from headrace.herder.core.herder_events import (
    ClaimDue,
    ClaimFailed,
    FencingDue,
    ReconfigurationRequested,
    RemovedOffsetsDue,
    SessionKeyExpired,
    StrayStatusSeen,
    SweepEnded,
    WriteDone,
    WriteFailed,
)
from headrace.herder.core.herder_state import HerderState, Phase, Privileges
from headrace.herder.core.zombie_fencing import lacks_record, without_round
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

_MOST_AT_ONCE: Final = 64
"""Writes that are made at the same time; each has a thread."""
_RETRY = 1.0
"""Seconds until a claim or a write of the herder's own is tried again."""


def writes_claimed(state: HerderState) -> HerderState:
    """Note that this worker may write the config topic."""
    if state.leadership.privileges is Privileges.CLAIMING:
        return state.with_leadership(privileges=Privileges.HELD)
    return state


def claim_failed(state: HerderState, event: ClaimFailed) -> Transition:
    """Claim the topic again later; an error that is not retriable fails the requests that wait."""
    if state.leadership.privileges is not Privileges.CLAIMING:
        return state, []
    state = state.with_leadership(privileges=Privileges.WAITING)
    actions: list[HerderAction] = [Later(_RETRY, ClaimDue())]
    if event.error is None or isinstance(event.error, RetriableError):
        return state, actions
    requests = [_request_of(write) for write in state.leadership.queue]
    actions += [Reply(request, event.error) for request in requests if request is not None]
    rest = tuple(write for write in state.leadership.queue if _request_of(write) is None)
    return state.with_leadership(queue=rest), actions


def _request_of(write: WriteRequest) -> int | None:
    """Return the request that waits for the write, None if the herder itself enqueued it."""
    own = PutTaskCount | PutOffsetsDeleted | PutSessionKey | PutAutomaticRestart
    return None if isinstance(write, own) else write.request


def claim_due(state: HerderState) -> HerderState:
    """Allow another claim of the config topic."""
    if state.leadership.privileges is Privileges.WAITING:
        return state.with_leadership(privileges=Privileges.NONE)
    return state


def write_done(state: HerderState, event: WriteDone) -> Transition:
    """Answer the request for the write, and end what waited for it."""
    state = _without(state, event.write)
    match event.write:
        case RemoveConnector(request=request, name=name) if state.alone:
            return awaited_work.removal_written(state, request, name), []
        case PutConnector(request=request):
            return state, [Reply(request, created=not event.write.replaces)]
        case PutTaskCount(name=name):
            return state.with_leadership(fencing=without_round(state.leadership, name)), []
        case PutTaskConfigs(request=request):
            return state, [] if request is None else [Reply(request)]
        case PutOffsetsDeleted(name=name):
            return state.with_leadership(deleting_offsets=state.leadership.deleting_offsets - {name}), []
        case PutSessionKey():
            return state, []
        case PutAutomaticRestart():
            return task_restarts.restart_written(state)
        case asked:
            return state, [Reply(asked.request)]


def write_failed(state: HerderState, event: WriteFailed) -> Transition:
    """Claim the topic anew, after any error, for the producer is gone (invariant 5).

    A leader that was fenced and still leads repeats the write; other errors fail the request for it. Writes that shared
    a transaction fail together, and one claim follows.
    """
    actions: list[HerderAction] = []
    if state.leadership.privileges is not Privileges.WAITING:
        actions.append(Later(_RETRY, ClaimDue()))
    state = _without(state, event.write).with_leadership(privileges=Privileges.WAITING)
    if event.fenced:
        return state.with_leadership(queue=(event.write, *state.leadership.queue)), actions
    match event.write:
        case PutTaskConfigs(name=name, request=request):
            again = Later(_RETRY, ReconfigurationRequested(name))
            actions.append(again if request is None else Reply(request, event.error))
        case PutTaskCount(name=name):
            actions.append(Later(_RETRY, FencingDue(name)))
        case PutOffsetsDeleted(name=name):
            actions.append(Later(_RETRY, RemovedOffsetsDue(name)))
        case PutSessionKey() | PutAutomaticRestart():
            pass  # keys and failures are checked again once the topic is claimed again
        case asked:
            actions.append(Reply(asked.request, event.error))
    return state, actions


def reconcile_privileges(state: HerderState) -> Transition:
    """Claim the config topic on becoming the leader, release it on ceasing to be."""
    privileges = state.leadership.privileges
    leads = state.is_leader and state.phase is Phase.ACTIVE
    if leads and privileges is Privileges.NONE:
        return state.with_leadership(privileges=Privileges.CLAIMING), [ClaimWrites()]
    if not leads and privileges is not Privileges.NONE:
        return state.with_leadership(privileges=Privileges.NONE, fencing={}, deleting_offsets=frozenset()), [
            ReleaseWrites()
        ]
    return state, []


def reconcile_sweep(state: HerderState) -> Transition:
    """Sweep stray statuses, unless something that has a status is just being created, or is stopping here."""
    creating = any(isinstance(write, PutConnector | PutTaskConfigs) for write in state.leadership.writing)
    due = state.sweep and state.leadership.privileges is Privileges.HELD and not state.leadership.sweeping
    if not due or creating or state.is_stopping():
        return state, []
    return replace(state, sweep=False).with_leadership(sweeping=True), [SweepStatuses()]


def sweep_ended(state: HerderState, event: SweepEnded) -> Transition:
    """End the sweep; one that failed is repeated later."""
    return state.with_leadership(sweeping=False), [Later(_RETRY, StrayStatusSeen())] if event.failed else []


def reconcile_writes(state: HerderState) -> Transition:
    """Process the writes of the queue that need not be waited for."""
    actions: list[HerderAction] = []
    while len(state.leadership.writing) < _MOST_AT_ONCE and state.membership is not None:
        underway = {subject(write) for write in state.leadership.writing}
        may_go = (w for w in state.leadership.queue if subject(w) not in underway and not _on_hold(state, w))
        head = next(may_go, None)
        if head is None or (state.is_leader and state.leadership.privileges is not Privileges.HELD):
            break
        at = state.leadership.queue.index(head)
        state = state.with_leadership(queue=state.leadership.queue[:at] + state.leadership.queue[at + 1 :])
        action = _judge(state, head)
        if isinstance(action, Write):
            state = state.with_leadership(writing=(*state.leadership.writing, action.write))
        if action is not None:
            actions.append(action)
    return state, actions


def _without(state: HerderState, write: WriteRequest) -> HerderState:
    """Return the state with ``write`` no longer being made."""
    about = subject(write)
    return state.with_leadership(writing=tuple(each for each in state.leadership.writing if subject(each) != about))


def _on_hold(state: HerderState, write: WriteRequest) -> bool:
    """Return True for a write that has to wait, while those behind it need not.

    A connector is not written while its offsets are changed, nor created again before its old offsets are deleted.
    """
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
        case PutAutomaticRestart():
            return task_restarts.judge(state.config, write)
        case asked:
            error = _missing_error(state.config, asked)
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
    """Refuse requests; publish the task configs of a connector on this worker to the leader."""
    assert state.membership is not None
    match write:
        case PutTaskConfigs(request=request):
            if request is not None:
                return refusal(state, request)
            publish = PublishTaskConfigs(write.name, write.configs, state.membership.leader_url)
            return publish if _task_configs_changed(state, write) else None
        case PutTaskCount() | PutOffsetsDeleted() | PutSessionKey() | PutAutomaticRestart():
            return None
        case asked:
            return refusal(state, asked.request)


def _missing_error(config: ClusterConfigState, write: UserWrite) -> ConnectError | None:
    if not config.contains(write.name):
        return NotFoundError(f"Connector {write.name} not found")
    if not isinstance(write, PutTaskRestart):
        return None
    id = ConnectorTaskId(write.name, write.task)
    if config.has_task(id):
        return None
    if config.task_config(id) is None:
        return NotFoundError(f"Unknown task: {id}")
    return RemovedTaskError(
        f"Task {id} does not exist any more: connector {write.name} {_describe_tasks(config, write.name)}"
    )


def _describe_tasks(config: ClusterConfigState, name: str) -> str:
    target, count = config.target_state(name) or TargetState.STARTED, len(config.tasks(name))
    if target is not TargetState.STARTED and not count:
        return f"is {target.value} and has no tasks until it is resumed"
    return f"is {target.value} and has {count} task{'' if count == 1 else 's'}"


def refusal(state: HerderState, request: int) -> RefuseNotLeader:
    """Return the answer of a worker that is not the leader."""
    assert state.membership is not None
    return RefuseNotLeader(request, state.membership.leader_url)


def _task_configs_changed(state: HerderState, write: PutTaskConfigs) -> bool:
    """Return True if the task configs, or the connector's config alone, differ from those in the topic.

    Tasks read their converters and transformations from the connector's config. The task configs of a connector that
    was stopped meanwhile are dropped: it has no tasks (KIP-875).
    """
    if state.config.target_state(write.name) in (None, TargetState.STOPPED):
        return False
    written = [dict(config) for config in state.config.all_task_configs(write.name)]
    return (
        write.name in state.unapplied
        or write.name in state.config.inconsistent
        or written != [dict(config) for config in write.configs]
    )


# ---- the session key (KIP-507)


def reconcile_session_key(state: HerderState) -> Transition:
    """Enqueue a new key if none fits the rules; else schedule the expiry of the present one."""
    watched, rules, key = state.leadership.watched_key, state.session_keys, state.config.session_key
    if state.leadership.privileges is not Privileges.HELD:
        # A worker that leads again, or writes again after a failure, has to check the key again.
        return (state if watched is None else state.with_leadership(watched_key=None)), []
    if rules is None or not state.signed or _key_underway(state):
        return state, []
    if key is None or not rules.fits(key):
        return state.with_write(PutSessionKey(key, rules)), []
    if key != watched:
        return state.with_leadership(watched_key=key), [WatchSessionKey(key, rules)]
    return state, []


def session_key_expired(state: HerderState, event: SessionKeyExpired) -> HerderState:
    """Enqueue a new key, unless that was done already. A worker that leads no more drops the write in its turn."""
    rules, key = state.session_keys, state.config.session_key
    if rules is None or _key_underway(state) or event.key != key:
        return state
    return state.with_write(PutSessionKey(key, rules))


def _key_underway(state: HerderState) -> bool:
    return any(isinstance(write, PutSessionKey) for write in state.leadership.writes)
