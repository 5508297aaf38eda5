# SPDX-License-Identifier: Apache-2.0
"""Configurations that live as long as the process. Java: ``MemoryConfigBackingStore``."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from headrace.model.auto_restart import with_restart, without_connector
from headrace.model.cluster_config_state import ClusterConfigState, Config, RemovedOffsets
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.storage.config_backing_store import OnConfigUpdate
from headrace.storage.config_log import (
    ConfigUpdate,
    ConnectorRemoved,
    ConnectorUpdated,
    LoggerLevelChanged,
    RestartRequested,
    TargetStateChanged,
    TaskRestartRequested,
    TasksUpdated,
)
from headrace.storage.config_writes import (
    ConfigWrite,
    ConnectorRemoval,
    ConnectorWrite,
    LoggerLevelWrite,
    OffsetsDeletedWrite,
    RestartWrite,
    TargetStateWrite,
    TaskConfigsWrite,
    TaskRestartWrite,
)

_V = TypeVar("_V")
_Change = tuple[ClusterConfigState, tuple[ConfigUpdate, ...]]


class MemoryConfigBackingStore:
    """Implements ``ConfigBackingStore`` for a worker that is the only one; nothing blocks.

    Each write is a new state, and counts as one offset. ``on_update`` is called on the thread that writes, in the order
    of the writes, after ``snapshot`` holds the change. It must not write.
    """

    def __init__(self, on_update: OnConfigUpdate) -> None:
        self._lock = threading.Lock()
        self._state = ClusterConfigState()
        self._on_update = on_update

    def snapshot(self) -> ClusterConfigState:
        return self._state

    def refresh(self, timeout: float) -> ClusterConfigState:
        return self._state

    def claim_write_privileges(self, timeout: float = 0.0) -> None:
        """Do nothing: there is no other writer."""

    def release_write_privileges(self) -> None:
        """Do nothing: there is no other writer."""

    def write(self, write: ConfigWrite) -> None:
        """Make one change. Task configs of a connector that does not exist are dropped."""
        with self._lock:
            self._state, updates = _apply(replace(self._state, offset=self._state.offset + 1), write)
            self._on_update(self._state, updates)


def _apply(state: ClusterConfigState, write: ConfigWrite) -> _Change:
    match write:
        case ConnectorWrite(name=name):
            return _with_connector(state, write), (ConnectorUpdated(name),)
        case ConnectorRemoval(name=name):
            return _without_connector(state, write), (ConnectorRemoved(name),)
        case OffsetsDeletedWrite(name=name):
            return replace(state, removed_offsets=_without(state.removed_offsets, name)), ()
        case TaskConfigsWrite(name=name, configs=configs):
            if not state.contains(name):
                return state, ()
            return _with_task_configs(state, name, configs), (TasksUpdated(name),)
        case TargetStateWrite():
            return _with_target_state(state, write)
        case RestartWrite(name=name, only_failed=only_failed, include_tasks=tasks, count=count):
            counts = with_restart(state.restart_counts, name, count, tasks=tasks)
            return replace(state, restart_counts=counts), (RestartRequested(name, only_failed, tasks, count),)
        case TaskRestartWrite(id=id, count=count):
            counts = with_restart(state.restart_counts, id, count)
            return replace(state, restart_counts=counts), (TaskRestartRequested(id, count),)
        case LoggerLevelWrite(logger=logger, level=level):
            return state, (LoggerLevelChanged(logger, level),)
    raise AssertionError(f"{write} is of use to other workers only, and there are none")


def _with_connector(state: ClusterConfigState, write: ConnectorWrite) -> ClusterConfigState:
    name, target = write.name, write.target_state
    targets = state.target_states if target is None else {**state.target_states, name: target}
    configs = {**state.connector_configs, name: MappingProxyType(dict(write.config))}
    counts = without_connector(state.restart_counts, name)
    return replace(state, connector_configs=configs, target_states=targets, restart_counts=counts)


def _without_connector(state: ClusterConfigState, write: ConnectorRemoval) -> ClusterConfigState:
    name, removed = write.name, state.removed_offsets
    if write.with_offsets and state.contains(name):
        removed = {**removed, name: RemovedOffsets(state.connector_configs[name], producers=0)}
    return replace(
        state,
        connector_configs=_without(state.connector_configs, name),
        target_states=_without(state.target_states, name),
        task_configs=_without_tasks(state, name),
        task_counts=_without(state.task_counts, name),
        task_config_offsets=_without(state.task_config_offsets, name),
        removed_offsets=removed,
        restart_counts=without_connector(state.restart_counts, name),
    )


def _with_target_state(state: ClusterConfigState, write: TargetStateWrite) -> _Change:
    """Return the state with another target state; one that is STOPPED has no tasks from that moment on (KIP-875)."""
    name = write.name
    changed: tuple[ConfigUpdate, ...] = (TargetStateChanged(name),)
    if write.state is TargetState.STOPPED and state.task_counts.get(name, 0):
        state, changed = _with_task_configs(state, name, ()), (TasksUpdated(name), *changed)
    counts = without_connector(state.restart_counts, name)
    return replace(state, target_states={**state.target_states, name: write.state}, restart_counts=counts), changed


def _with_task_configs(state: ClusterConfigState, name: str, configs: Sequence[Config]) -> ClusterConfigState:
    own = {ConnectorTaskId(name, n): MappingProxyType(dict(config)) for n, config in enumerate(configs)}
    return replace(
        state,
        task_configs={**_without_tasks(state, name), **own},
        task_counts={**state.task_counts, name: len(configs)},
        # As in the config topic: the state is at the next record, a generation is the offset of its own.
        task_config_offsets={**state.task_config_offsets, name: state.offset - 1},
    )


def _without_tasks(state: ClusterConfigState, name: str) -> dict[ConnectorTaskId, Config]:
    return {id: config for id, config in state.task_configs.items() if id.connector != name}


def _without(mapping: Mapping[str, _V], name: str) -> dict[str, _V]:
    return {key: value for key, value in mapping.items() if key != name}
