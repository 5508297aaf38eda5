# SPDX-License-Identifier: Apache-2.0
"""The herder's core: rounds of zombie fencing (KIP-618).

Before a generation of tasks starts, the producers of older ones are shut out; the task count record ends the round.
"""

from __future__ import annotations

from headrace.api.error_text import error_text
from headrace.api.errors import ConnectError, RetriableError
from headrace.herder.core.config_writes import PutTaskCount
from headrace.herder.core.herder_actions import Fence, HerderAction, Later, Reply, Transition
from headrace.herder.core.herder_events import FencingDone, FencingDue, FencingFailed
from headrace.herder.core.herder_state import HerderState, Leadership, Privileges
from headrace.herder.core.local_work import fail_starts
from headrace.herder.core.settled import unless_settled
from headrace.model.cluster_config_state import ClusterConfigState

_RETRY = 1.0
"""Seconds until a round is tried again."""


def producers_to_fence(config: ClusterConfigState, connector: str) -> int:
    """Return the number of task producers of earlier generations to fence, 0 if new tasks fence them themselves.

    A connector that never had a task count record has had no transactional tasks. One task that follows one task
    fences it by its own ``init_transactions``, since both have the same ``transactional.id`` (invariant 2).
    """
    before = config.task_count_records.get(connector)
    if before is None or (before <= 1 and len(config.tasks(connector)) <= 1):
        return 0
    return before


def lacks_record(config: ClusterConfigState, connector: str) -> bool:
    """Return True if no round of fencing follows the connector's newest task configs, or its deletion.

    A connector that was created again, without task configs yet, still has the task count record of its deleted tasks.
    """
    deleted = connector not in config.task_config_offsets and bool(config.task_count_records.get(connector))
    return connector in config.pending_fencing or deleted


def rounds_due(state: HerderState) -> list[str]:
    """Return the connectors whose newest tasks wait for a round of fencing that the leader has not begun.

    Workers with tasks of a connector ask for its round, the leader among them, and not before former tasks had the time
    to commit their records. A round that fences no producer is harmless and begins at once.
    """
    asked = {name for _, name in state.leadership.fencing_requests} | set(state.waits_for_fencing())
    former = {id.connector for id in state.outdated_tasks(state.config)}
    return sorted(
        name
        for name in state.config.pending_fencing - former
        if state.config.tasks(name)
        and state.type_of(name) == "source"
        and state.leadership.fencing.get(name) != state.config.task_config_offsets.get(name)
        and (name in asked or (state.exactly_once and not producers_to_fence(state.config, name)))
    )


@unless_settled(
    lambda state: (
        *(state.phase, state.membership, state.config, state.tasks, state.types, state.exactly_once),
        *(state.leadership.privileges, state.leadership.fencing, state.leadership.fencing_requests),
    )
)
def reconcile_fencing(state: HerderState) -> Transition:
    """Begin the rounds of zombie fencing that are due; a round with nothing to fence is its record alone."""
    if state.leadership.privileges is not Privileges.HELD:
        return state, []
    actions: list[HerderAction] = []
    for name in rounds_due(state):
        state, more = begin_round(state, name, producers_to_fence(state.config, name))
        actions += more
    return state, actions


def begin_round(state: HerderState, name: str, producers: int) -> Transition:
    """Begin a round of zombie fencing of a connector; it ends with the task count record."""
    generation = state.config.generation(name)
    state = state.with_leadership(fencing={**state.leadership.fencing, name: generation})
    if producers:
        return state, [Fence(name, generation, producers, state.config.connector_configs[name])]
    return state.with_write(_task_count(state, name, generation)), []


def fencing_done(state: HerderState, event: FencingDone) -> HerderState:
    """Enqueue the task count record that ends the round (invariant 6)."""
    if state.leadership.fencing.get(event.connector) != event.generation:
        return state
    return state.with_write(_task_count(state, event.connector, event.generation))


def fencing_failed(state: HerderState, event: FencingFailed) -> Transition:
    """Fail the changes of offsets that wait for the round.

    For tasks a round that failed for a retriable error is repeated; other errors fail the tasks.
    """
    name = event.connector
    if state.leadership.fencing.get(name) != event.generation:
        return state, []
    waiting = [each for each in state.leadership.offset_requests if each.name == name]
    error = event.error or RetriableError(f"The former tasks of connector {name} could not be fenced")
    actions: list[HerderAction] = [Reply(each.request, error) for each in waiting]
    rest = tuple(each for each in state.leadership.offset_requests if each not in waiting)
    state = state.with_leadership(offset_requests=rest)
    if isinstance(error, RetriableError):
        return state, [*actions, Later(_RETRY, FencingDue(name))]
    trace = event.trace or error_text(error)
    asked = [request for request, connector in state.leadership.fencing_requests if connector == name]
    actions += [Reply(request, ConnectError(trace)) for request in asked]
    others = tuple(each for each in state.leadership.fencing_requests if each[1] != name)
    state, failed = fail_starts(fencing_due(state.with_leadership(fencing_requests=others), name), name, trace)
    return state, [*actions, *failed]


def fencing_due(state: HerderState, connector: str) -> HerderState:
    """Allow another round of fencing of the connector."""
    return state.with_leadership(fencing=without_round(state.leadership, connector))


def _task_count(state: HerderState, connector: str, generation: int) -> PutTaskCount:
    return PutTaskCount(connector, generation, len(state.config.tasks(connector)))


def without_round(leadership: Leadership, connector: str) -> dict[str, int]:
    """Return the generations with a round under way, but for that of ``connector``, whose round is over."""
    return {name: generation for name, generation in leadership.fencing.items() if name != connector}
