# SPDX-License-Identifier: Apache-2.0
"""The herder's core: requests that wait for the work on this worker, where a group's requests end with their write.

On a worker that is alone all of a connector is here: its start is the start of its tasks too, and its removal ends when
nothing of it is left, as in Java's ``StandaloneHerder``.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.herder.core.config_writes import PutTaskConfigs
from headrace.herder.core.herder_actions import Reply, Transition
from headrace.herder.core.herder_events import StartAwaited
from headrace.herder.core.herder_state import ConnectorRun, HerderState, RunPhase
from headrace.herder.errors import NotFoundError
from headrace.model.state import TargetState

# ---- starts


def start_awaited(state: HerderState, event: StartAwaited) -> HerderState:
    """Queue a request."""
    return replace(state, awaited_starts=(*state.awaited_starts, (event.request, event.name)))


def reconcile_starts(state: HerderState) -> Transition:
    """Answer the requests for connectors that have the tasks they are to have, or none as they are not to run."""
    if not state.awaited_starts:
        return state, []
    answers = {waiting: _start_answer(state, *waiting) for waiting in state.awaited_starts}
    rest = tuple(waiting for waiting, answer in answers.items() if answer is None)
    return replace(state, awaited_starts=rest), [answer for answer in answers.values() if answer is not None]


def _start_answer(state: HerderState, request: int, name: str) -> Reply | None:
    if not state.config.contains(name):
        return Reply(request, NotFoundError(f"Connector {name} not found"))
    run = state.connectors.get(name)
    if run is None or run.phase in (RunPhase.STARTING, RunPhase.STOPPING):
        return None
    if run.target is not TargetState.STARTED:
        return Reply(request)
    if run.phase is RunPhase.FAILED:
        return Reply(request, run.error)
    return Reply(request) if _has_its_tasks(state, name, run) else None


def _has_its_tasks(state: HerderState, name: str, run: ConnectorRun) -> bool:
    if run.reconfigure or run.computing or run.failure or state.rebalance_pending:
        return False
    if any(isinstance(write, PutTaskConfigs) and write.name == name for write in state.leadership.writes):
        return False
    tasks, generation = (state.tasks.get(id) for id in state.config.tasks(name)), state.config.generation(name)
    return all(task is not None and not task.stopping and task.generation == generation for task in tasks)


# ---- removals


def removal_written(state: HerderState, request: int, name: str) -> HerderState:
    """Queue the request for a removal that is in the config store."""
    return replace(state, awaited_removals=(*state.awaited_removals, (request, name)))


def removal_failed(state: HerderState, name: str, error: Exception) -> Transition:
    """Answer the requests for the removal of a connector whose offsets could not be deleted."""
    failed = [waiting for waiting in state.awaited_removals if waiting[1] == name]
    rest = tuple(waiting for waiting in state.awaited_removals if waiting not in failed)
    return replace(state, awaited_removals=rest), [Reply(request, error) for request, _ in failed]


def reconcile_removals(state: HerderState) -> Transition:
    """Answer the requests for connectors of which nothing is left: no run, no status, no offsets to delete."""
    if not state.awaited_removals:
        return state, []
    gone = [waiting for waiting in state.awaited_removals if _is_gone(state, waiting[1])]
    rest = tuple(waiting for waiting in state.awaited_removals if waiting not in gone)
    return replace(state, awaited_removals=rest), [Reply(request) for request, _ in gone]


def _is_gone(state: HerderState, name: str) -> bool:
    """Return True if nothing of the removed connector is left; one of the same name may run already."""
    return not (state.is_stopping(name) or state.leadership.sweeping or name in state.config.removed_offsets)
