# SPDX-License-Identifier: Apache-2.0
"""The herder's core, part 2: brings what runs on this worker in line with what it was assigned.

Nothing here remembers how things came to be: it compares what is wanted with what runs, so a lost session, a
rebalance, a new config and the end of the worker are all the same case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.distributed.core.config_writes import PutTaskConfigs
from headrace.distributed.core.herder_actions import (
    ComputeTaskConfigs,
    FailTask,
    HerderAction,
    Later,
    SetConnectorTarget,
    SetTaskTarget,
    StartConnector,
    StartTask,
    StopConnector,
    StopTasks,
    TellRestart,
)
from headrace.distributed.core.herder_events import ReconfigurationRequested, RestartPlanned, TaskConfigsComputed
from headrace.distributed.core.herder_state import ConnectorRun, HerderState, RunPhase, TaskRun
from headrace.model.backoff import ExponentialBackoff
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState

_BACKOFF = ExponentialBackoff(0.25, 60.0)
"""Before task configs that could not be made are tried again; as in Kafka Connect."""

Settled = tuple[HerderState, list[HerderAction]]


def connector_started(state: HerderState, name: str) -> HerderState:
    """A connector that runs is asked for task configs. One that had failed does so again once it was stopped."""
    run = state.connectors.get(name)
    if run is None or run.phase not in (RunPhase.STARTING, RunPhase.FAILED):
        return state
    return _with_run(state, name, replace(run, phase=RunPhase.RUNNING, reconfigure=True))


def connector_failed(state: HerderState, name: str) -> HerderState:
    """It stays FAILED until it is restarted, stopped or given another config."""
    run = state.connectors.get(name)
    if run is None or run.phase is RunPhase.STOPPING:
        return state
    return _with_run(state, name, replace(run, phase=RunPhase.FAILED, computing=False))


def connector_stopped(state: HerderState, name: str) -> HerderState:
    return replace(state, connectors={n: run for n, run in state.connectors.items() if n != name})


def tasks_stopped(state: HerderState, ids: tuple[ConnectorTaskId, ...]) -> HerderState:
    return replace(state, tasks={id: run for id, run in state.tasks.items() if id not in ids})


def reconfiguration_requested(state: HerderState, name: str) -> HerderState:
    run = state.connectors.get(name)
    return state if run is None else _with_run(state, name, replace(run, reconfigure=True))


def restart_planned(state: HerderState, event: RestartPlanned) -> HerderState:
    """Restarts what is here of it: others do their part, and what is nobody's at the moment will start anyway."""
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
    """Hands new task configs to the leader's duties, which compare them with those in the topic.

    A follower's have only come to something when the leader has taken them over.
    """
    run = state.connectors.get(event.name)
    if run is None or not run.computing:
        return state
    failures = 0 if state.is_leader else run.failures
    state = _with_run(state, event.name, replace(run, computing=False, failures=failures))
    write = PutTaskConfigs(event.name, event.configs)
    return replace(state, leadership=replace(state.leadership, queue=(*state.leadership.queue, write)))


def task_configs_failed(state: HerderState, name: str) -> Settled:
    run = state.connectors.get(name)
    if run is None or not run.computing:
        return state, []
    return _make_again_later(state, name, replace(run, computing=False))


def task_configs_published(state: HerderState, name: str) -> HerderState:
    run = state.connectors.get(name)
    return state if run is None else _with_run(state, name, replace(run, failures=0))


def publication_failed(state: HerderState, name: str) -> Settled:
    """The connector is asked again, by when there may be another leader, which may be this worker."""
    run = state.connectors.get(name)
    return (state, []) if run is None else _make_again_later(state, name, run)


def _make_again_later(state: HerderState, name: str, run: ConnectorRun) -> Settled:
    failures = run.failures + 1
    state = _with_run(state, name, replace(run, failures=failures))
    return state, [Later(_BACKOFF.after(failures), ReconfigurationRequested(name))]


def settle_connectors(state: HerderState) -> Settled:
    """Starts, stops, restarts, pauses and resumes connectors."""
    wanted = state.wanted_connectors()
    runs: dict[str, ConnectorRun] = {}
    actions: list[HerderAction] = []
    for name, run in state.connectors.items():
        runs[name] = _settle_connector(state.config, name, run, name in wanted, actions)
    if state.in_step:
        for name in sorted(wanted - runs.keys()):
            config, target = state.config.connector_configs[name], _target(state.config, name)
            runs[name] = ConnectorRun(RunPhase.STARTING, config, target)
            actions += _again(state, name)
            actions.append(StartConnector(name, config, target))
            state = replace(state, restarting=state.restarting - {name})
    return replace(state, connectors=runs), actions


def _settle_connector(
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


def settle_tasks(state: HerderState) -> Settled:
    """Stops tasks that are not wanted or have new configs, then starts what is wanted and may run."""
    wanted = state.wanted_tasks()
    offsets = state.config.task_config_offsets
    runs = dict(state.tasks)
    actions: list[HerderAction] = []
    doomed = tuple(
        sorted(
            id
            for id, run in runs.items()
            if not run.stopping and (run.stale or id not in wanted or run.generation != offsets.get(id.connector))
        )
    )
    if doomed:
        runs.update({id: replace(runs[id], stopping=True) for id in doomed})
        actions.append(StopTasks(doomed))
    for id, run in runs.items():
        target = _target(state.config, id.connector)
        if not run.stopping and run.target is not target:
            runs[id] = replace(run, target=target)
            actions.append(SetTaskTarget(id, target))
    for id in sorted(wanted - runs.keys()):
        if _may_start(state, id):
            runs[id] = TaskRun(offsets[id.connector], _target(state.config, id.connector))
            actions += _again(state, id)
            actions.append(_start(state.config, id, runs[id]))
            state = replace(state, restarting=state.restarting - {id})
    still = runs.keys() | wanted | state.connectors.keys()
    return replace(state, tasks=runs, restarting=state.restarting & still), actions


def _may_start(state: HerderState, id: ConnectorTaskId) -> bool:
    """Only under an assignment that knew the newest task configs, and after their round of fencing (invariant 6)."""
    return state.assignment_knows(id.connector) and not state.awaits_fencing(id.connector)


def fail_starts(state: HerderState, connector: str, trace: str) -> Settled:
    """The connector's tasks that wait here for a round of fencing are FAILED with ``trace`` until they are restarted.

    What failed to start counts as run, as a task does that failed later: so a restart is the same for both.
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


def _again(state: HerderState, id: str | ConnectorTaskId) -> list[HerderAction]:
    return [TellRestart(id)] if id in state.restarting else []


def _target(config: ClusterConfigState, connector: str) -> TargetState:
    return config.target_state(connector) or TargetState.STARTED


def _with_run(state: HerderState, name: str, run: ConnectorRun) -> HerderState:
    connectors: Mapping[str, ConnectorRun] = {**state.connectors, name: run}
    return replace(state, connectors=connectors)
