# SPDX-License-Identifier: Apache-2.0
"""The herder's core: reconciles the connectors and tasks that run on this worker with those assigned to it.

It compares the wanted work with the running work, without any history: a lost session, a rebalance, a new config and
the end of the worker are all the same case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.api.error_text import error_name, error_text
from headrace.herder.core.config_writes import PutTaskConfigs
from headrace.herder.core.herder_actions import (
    ComputeTaskConfigs,
    FailTask,
    HerderAction,
    Later,
    ReportRestart,
    SetConnectorTarget,
    SetTaskTarget,
    StartConnector,
    StartTask,
    StopConnector,
    StopTasks,
    Transition,
)
from headrace.herder.core.herder_events import (
    ConnectorFailed,
    PublicationFailed,
    ReconfigurationRequested,
    RestartPlanned,
    TaskConfigsComputed,
    TaskConfigsFailed,
)
from headrace.herder.core.herder_state import (
    ConnectorRun,
    HerderState,
    RunPhase,
    TaskConfigsFailure,
    TaskRun,
)
from headrace.herder.core.settled import unless_settled
from headrace.model.backoff import ExponentialBackoff
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.health import TaskConfigsError, TaskConfigsStage
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState

_BACKOFF = ExponentialBackoff(0.25, 60.0)
"""Before another attempt at task configs; as in Kafka Connect."""


def connector_started(state: HerderState, name: str) -> HerderState:
    """Note that a connector runs, and request its task configs. A failed one runs again once it was stopped."""
    run = state.connectors.get(name)
    if run is None or run.phase not in (RunPhase.STARTING, RunPhase.FAILED):
        return state
    return _with_run(state, name, replace(run, phase=RunPhase.RUNNING, reconfigure=True, error=None))


def connector_failed(state: HerderState, event: ConnectorFailed) -> HerderState:
    """Note that a connector failed; it stays FAILED until it is restarted, stopped or gets another config."""
    run = state.connectors.get(event.name)
    if run is None or run.phase is RunPhase.STOPPING:
        return state
    return _with_run(state, event.name, replace(run, phase=RunPhase.FAILED, computing=False, error=event.error))


def connector_stopped(state: HerderState, name: str) -> HerderState:
    """Forget a connector that has ended."""
    return replace(state, connectors={n: run for n, run in state.connectors.items() if n != name})


def tasks_stopped(state: HerderState, ids: tuple[ConnectorTaskId, ...]) -> HerderState:
    """Forget tasks that have ended."""
    return replace(state, tasks={id: run for id, run in state.tasks.items() if id not in ids})


def reconfiguration_requested(state: HerderState, name: str) -> HerderState:
    """Have a connector's task configs computed again."""
    run = state.connectors.get(name)
    return state if run is None else _with_run(state, name, replace(run, reconfigure=True))


def restart_planned(state: HerderState, event: RestartPlanned) -> HerderState:
    """Restart the affected connectors and tasks here. Others are for other workers."""
    connectors = {
        name: replace(state.connectors[name], stale=True) for name in event.connectors if name in state.connectors
    }
    tasks = {id: replace(state.tasks[id], stale=True) for id in event.tasks if id in state.tasks}
    return replace(
        state,
        connectors={**state.connectors, **connectors},
        tasks={**state.tasks, **tasks},
        restarting=state.restarting | connectors.keys() | tasks.keys(),
    )


def task_configs_computed(state: HerderState, event: TaskConfigsComputed) -> HerderState:
    """Enqueue new task configs as a write, which is compared with those in the topic in its turn.

    On a follower they count as a success only once the leader has accepted them.
    """
    run = state.connectors.get(event.name)
    if run is None or not run.computing:
        return state
    failure = None if state.is_leader else run.failure
    state = _with_run(state, event.name, replace(run, computing=False, failure=failure))
    return state.with_write(PutTaskConfigs(event.name, event.configs))


def task_configs_failed(state: HerderState, event: TaskConfigsFailed) -> Transition:
    """Ask the connector again later."""
    run = state.connectors.get(event.name)
    if run is None or not run.computing:
        return state, []
    return _retry_task_configs_later(state, replace(run, computing=False), event, TaskConfigsStage.COMPUTING)


def task_configs_published(state: HerderState, name: str) -> HerderState:
    """Forget the connector's failures."""
    run = state.connectors.get(name)
    return state if run is None else _with_run(state, name, replace(run, failure=None))


def publication_failed(state: HerderState, event: PublicationFailed) -> Transition:
    """Ask the connector again later; by then there may be another leader, perhaps this worker."""
    run = state.connectors.get(event.name)
    return (state, []) if run is None else _retry_task_configs_later(state, run, event, TaskConfigsStage.PUBLISHING)


def _retry_task_configs_later(
    state: HerderState, run: ConnectorRun, event: TaskConfigsFailed | PublicationFailed, stage: TaskConfigsStage
) -> Transition:
    attempts, since = (run.failure.attempts, run.failure.since) if run.failure else (0, event.at)
    delay = _BACKOFF.after(attempts + 1)
    failure = TaskConfigsFailure(event.error, stage, event.at, since, attempts + 1, event.at + delay)
    state = _with_run(state, event.name, replace(run, failure=failure))
    return state, [Later(delay, ReconfigurationRequested(event.name))]


def task_configs_errors(state: HerderState, now: float) -> Mapping[str, TaskConfigsError]:
    """Return what fails on the way of task configs to the config topic, by connector, seen at ``now``."""
    failures = {name: run.failure for name, run in state.connectors.items() if run.failure is not None}
    return {name: _seen(failure, now) for name, failure in failures.items()}


def _seen(failure: TaskConfigsFailure, now: float) -> TaskConfigsError:
    error, (age, since, left) = failure.error, (now - failure.at, now - failure.since, failure.next_attempt - now)
    ages = {"age": age, "since": since, "next_attempt": left}
    in_ms = {name: max(0, round(seconds * 1000)) for name, seconds in ages.items()}
    text = error_text(error) or "no reason was given"
    return TaskConfigsError(error_name(error), text, failure.stage.value, attempts=failure.attempts, **in_ms)


@unless_settled(lambda state: (state.phase, state.membership, state.config, state.connectors, state.restarting))
def reconcile_connectors(state: HerderState) -> Transition:
    """Start, stop, restart, pause and resume connectors."""
    wanted = state.wanted_connectors()
    actions: list[HerderAction] = []
    configs, targets = state.config.connector_configs, state.config.target_states
    # Nearly all are as they should be, so that costs little.
    others = [
        name
        for name, run in state.connectors.items()
        if name not in wanted
        or run.stale
        or run.reconfigure
        or run.config is not configs[name]
        or run.target is not targets.get(name, TargetState.STARTED)
    ]
    runs = dict(state.connectors)
    for name in others:
        runs[name] = _reconcile_connector(state.config, name, runs[name], name in wanted, actions)
    if state.in_step:
        for name in sorted(wanted - runs.keys()):
            config, target = state.config.connector_configs[name], _target(state.config, name)
            runs[name] = ConnectorRun(RunPhase.STARTING, config, target)
            actions += _restart_actions(state, name)
            actions.append(StartConnector(name, config, target))
            state = replace(state, restarting=state.restarting - {name})
    return (replace(state, connectors=runs), actions) if actions else (state, [])


def _reconcile_connector(
    config: ClusterConfigState, name: str, run: ConnectorRun, wanted: bool, actions: list[HerderAction]
) -> ConnectorRun:
    if run.phase is RunPhase.STOPPING:
        return run
    if not wanted or run.stale or run.config != config.connector_config(name):
        actions.append(StopConnector(name))
        return replace(run, phase=RunPhase.STOPPING)
    target = _target(config, name)
    if target is not run.target:
        actions.append(SetConnectorTarget(name, target))
        run = replace(run, target=target, reconfigure=run.reconfigure or target is TargetState.STARTED)
    # As in Kafka Connect a paused connector makes no task configs: changes wait until it is resumed.
    may_compute = run.phase is RunPhase.RUNNING and target is TargetState.STARTED and not run.computing
    if run.reconfigure and may_compute:
        actions.append(ComputeTaskConfigs(name))
        run = replace(run, reconfigure=False, computing=True)
    return run


@unless_settled(
    lambda state: (
        *(state.phase, state.membership, state.config, state.connectors, state.tasks, state.restarting),
        *(state.types, state.exactly_once),
    )
)
def reconcile_tasks(state: HerderState) -> Transition:
    """Stop tasks that are not wanted or have new configs, then start those that are wanted and may run."""
    wanted = state.wanted_tasks()
    offsets = state.config.task_config_offsets
    targets = state.config.target_states
    runs = dict(state.tasks)
    actions: list[HerderAction] = []
    outdated = [
        id
        for id, run in runs.items()
        if not run.stopping and (run.stale or id not in wanted or run.generation != offsets.get(id.connector))
    ]
    if outdated:
        runs.update({id: replace(runs[id], stopping=True) for id in outdated})
        actions.append(StopTasks(tuple(sorted(outdated))))
    paused_or_resumed = [
        (id, target)
        for id, run in runs.items()
        if run.target is not (target := targets.get(id.connector, TargetState.STARTED)) and not run.stopping
    ]
    for id, target in paused_or_resumed:
        runs[id] = replace(runs[id], target=target)
        actions.append(SetTaskTarget(id, target))
    for id in sorted(wanted - runs.keys()):
        if _may_start(state, id):
            runs[id] = TaskRun(offsets[id.connector], _target(state.config, id.connector))
            actions += _restart_actions(state, id)
            actions.append(_start(state.config, id, runs[id]))
            state = replace(state, restarting=state.restarting - {id})
    restarting = state.restarting & (runs.keys() | wanted | state.connectors.keys())
    if not actions and restarting == state.restarting:
        return state, []
    return replace(state, tasks=runs, restarting=restarting), actions


def _may_start(state: HerderState, id: ConnectorTaskId) -> bool:
    """Return True if the assignment knew the newest task configs, and after their round of fencing (invariant 6)."""
    return state.assignment_knows(id.connector) and not state.awaits_fencing(id.connector)


def fail_starts(state: HerderState, connector: str, trace: str) -> Transition:
    """Fail the connector's tasks that wait here for a round of fencing, with ``trace``, until they are restarted.

    A task that failed to start counts as running, as one that failed later does: a restart is the same for both.
    """
    if connector not in state.waits_for_fencing():
        return state, []
    generation, target = state.config.task_config_offsets[connector], _target(state.config, connector)
    ids = sorted(id for id in state.wanted_tasks() - state.tasks.keys() if id.connector == connector)
    runs = {id: TaskRun(generation, target) for id in ids}
    state = replace(state, tasks={**state.tasks, **runs}, restarting=state.restarting - runs.keys())
    return state, [FailTask(id, trace) for id in ids]


def _start(config: ClusterConfigState, id: ConnectorTaskId, run: TaskRun) -> StartTask:
    return StartTask(id, config.connector_configs[id.connector], config.task_configs[id], run.target)


def _restart_actions(state: HerderState, id: str | ConnectorTaskId) -> list[HerderAction]:
    return [ReportRestart(id)] if id in state.restarting else []


def _target(config: ClusterConfigState, connector: str) -> TargetState:
    return config.target_state(connector) or TargetState.STARTED


def _with_run(state: HerderState, name: str, run: ConnectorRun) -> HerderState:
    connectors: Mapping[str, ConnectorRun] = {**state.connectors, name: run}
    return replace(state, connectors=connectors)
