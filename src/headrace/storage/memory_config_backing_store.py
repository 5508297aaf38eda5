# SPDX-License-Identifier: Apache-2.0
"""Configurations that live as long as the process. Java: ``MemoryConfigBackingStore``."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from headrace.model.cluster_config_state import ClusterConfigState, Config
from headrace.model.ids import ConnectorTaskId
from headrace.storage.config_writes import ConnectorRemoval, ConnectorWrite, TargetStateWrite, TaskConfigsWrite

_V = TypeVar("_V")


class MemoryConfigBackingStore:
    """Thread-safe; nothing blocks. Each write is a new state, and counts as one offset."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = ClusterConfigState()

    def snapshot(self) -> ClusterConfigState:
        return self._state

    def write(self, write: ConnectorWrite | ConnectorRemoval | TaskConfigsWrite | TargetStateWrite) -> None:
        """Make one change. Task configs of a connector that does not exist are dropped."""
        with self._lock:
            match write:
                case ConnectorWrite():
                    self._state = _with_connector(self._next(), write)
                case ConnectorRemoval(name=name):
                    self._state = _without_connector(self._next(), name)
                case TaskConfigsWrite(name=name, configs=configs):
                    if self._state.contains(name):
                        self._state = _with_task_configs(self._next(), name, configs)
                case TargetStateWrite(name=name, state=target):
                    state = self._next()
                    self._state = replace(state, target_states={**state.target_states, name: target})

    def _next(self) -> ClusterConfigState:
        return replace(self._state, offset=self._state.offset + 1)


def _with_connector(state: ClusterConfigState, write: ConnectorWrite) -> ClusterConfigState:
    name, target = write.name, write.target_state
    targets = state.target_states if target is None else {**state.target_states, name: target}
    configs = {**state.connector_configs, name: MappingProxyType(dict(write.config))}
    return replace(state, connector_configs=configs, target_states=targets)


def _without_connector(state: ClusterConfigState, name: str) -> ClusterConfigState:
    state = _with_task_configs(state, name, ())
    return replace(
        state,
        connector_configs=_without(state.connector_configs, name),
        target_states=_without(state.target_states, name),
        task_counts=_without(state.task_counts, name),
        task_config_offsets=_without(state.task_config_offsets, name),
    )


def _with_task_configs(state: ClusterConfigState, name: str, configs: Sequence[Config]) -> ClusterConfigState:
    others = {id: config for id, config in state.task_configs.items() if id.connector != name}
    own = {ConnectorTaskId(name, n): MappingProxyType(dict(config)) for n, config in enumerate(configs)}
    return replace(
        state,
        task_configs={**others, **own},
        task_counts={**state.task_counts, name: len(configs)},
        task_config_offsets={**state.task_config_offsets, name: state.offset},
    )


def _without(mapping: Mapping[str, _V], name: str) -> dict[str, _V]:
    return {key: value for key, value in mapping.items() if key != name}
