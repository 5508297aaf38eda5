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
from headrace.model.state import TargetState

_V = TypeVar("_V")


class MemoryConfigBackingStore:
    """Thread-safe; nothing blocks. Each write is a new state, and counts as one offset."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = ClusterConfigState()

    def snapshot(self) -> ClusterConfigState:
        return self._state

    def put_connector(self, name: str, config: Config, target_state: TargetState | None = None) -> None:
        """Create or configure a connector, together with its target state where one is given."""
        with self._lock:
            state = self._next()
            targets = state.target_states if target_state is None else {**state.target_states, name: target_state}
            configs = {**state.connector_configs, name: MappingProxyType(dict(config))}
            self._state = replace(state, connector_configs=configs, target_states=targets)

    def remove_connector(self, name: str) -> None:
        """Remove all that is known about a connector."""
        with self._lock:
            state = _with_task_configs(self._next(), name, ())
            self._state = replace(
                state,
                connector_configs=_without(state.connector_configs, name),
                target_states=_without(state.target_states, name),
                task_counts=_without(state.task_counts, name),
                task_config_offsets=_without(state.task_config_offsets, name),
            )

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> None:
        """Replace the connector's tasks by as many as there are ``configs``, if the connector exists."""
        with self._lock:
            if self._state.contains(name):
                self._state = _with_task_configs(self._next(), name, configs)

    def put_target_state(self, name: str, target_state: TargetState) -> None:
        with self._lock:
            state = self._next()
            self._state = replace(state, target_states={**state.target_states, name: target_state})

    def _next(self) -> ClusterConfigState:
        return replace(self._state, offset=self._state.offset + 1)


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
