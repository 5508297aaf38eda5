# SPDX-License-Identifier: Apache-2.0
"""An immutable view of the config topic at one offset. Java: ``ClusterConfigState``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from headrace.model.auto_restart import RestartCounts
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState

Config = Mapping[str, str | None]
_NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A key that signs requests between workers (KIP-507); ``key`` is base64, ``created_ms`` since the epoch."""

    key: str = field(repr=False)
    algorithm: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class RemovedOffsets:
    """A connector that was removed together with its offsets, which are still to be deleted.

    ``config`` is its last configuration, which names their topic; ``producers`` is the number of task producers to
    fence before.
    """

    config: Config
    producers: int


@dataclass(frozen=True, slots=True)
class OffsetsTopic:
    """The workers' offsets topic, as the leader last used it; ``id`` is its topic id (KIP-516)."""

    name: str
    id: str


@dataclass(frozen=True, slots=True)
class ClusterConfigState:
    """The connectors and tasks of the cluster, as of ``offset``, the config topic's next record (-1: nothing read yet).

    Immutable: applying a record creates a new state. Any thread may read it.
    """

    offset: int = -1
    session_key: SessionKey | None = None
    connector_configs: Mapping[str, Config] = field(default_factory=dict)
    target_states: Mapping[str, TargetState] = field(default_factory=dict)
    task_counts: Mapping[str, int] = field(default_factory=dict)
    """Connector to the number of tasks of its last commit record."""
    task_configs: Mapping[ConnectorTaskId, Config] = field(default_factory=dict)
    task_config_offsets: Mapping[str, int] = field(default_factory=lambda: _NONE)
    """Connector to the offset of its last commit record, which identifies a generation of task configs."""
    task_count_records: Mapping[str, int] = field(default_factory=lambda: _NONE)
    """Connector to the number of task producers that the next round of zombie fencing has to fence (KIP-618)."""
    pending_fencing: frozenset[str] = frozenset()
    """Connectors whose latest task configs are not followed by a task count record (invariant 6)."""
    inconsistent: frozenset[str] = frozenset()
    """Connectors whose committed number of tasks does not match the task configs seen (compaction, lost writes)."""
    removed_offsets: Mapping[str, RemovedOffsets] = field(default_factory=dict)
    """Removed connectors whose offsets are still to be deleted."""
    offsets_topic: OffsetsTopic | None = None
    """The topic that stores source offsets; None if no leader has recorded it."""
    restart_counts: RestartCounts = field(default_factory=dict)
    """The automatic restarts of connectors and tasks since their operators last started them."""

    def connectors(self) -> tuple[str, ...]:
        """Return the names of all connectors, sorted."""
        return tuple(sorted(self.connector_configs))

    def contains(self, connector: str) -> bool:
        return connector in self.connector_configs

    def connector_config(self, connector: str) -> Config | None:
        return self.connector_configs.get(connector)

    def target_state(self, connector: str) -> TargetState | None:
        """Return the target state, STARTED by default; None if there is no such connector."""
        if connector not in self.connector_configs:
            return None
        return self.target_states.get(connector, TargetState.STARTED)

    def tasks(self, connector: str) -> tuple[ConnectorTaskId, ...]:
        """Return the connector's tasks in order; empty while the connector is inconsistent."""
        if connector in self.inconsistent:
            return ()
        return tuple(ConnectorTaskId(connector, n) for n in range(self.task_counts.get(connector, 0)))

    def has_task(self, id: ConnectorTaskId) -> bool:
        """Return True if the task is one of its connector's ``tasks``."""
        name = id.connector
        return 0 <= id.task < self.task_counts.get(name, 0) and name not in self.inconsistent

    def generation(self, connector: str) -> int:
        """Return the generation of the connector's task configs; -1 if it has had none since it was created."""
        return self.task_config_offsets.get(connector, -1)

    def all_task_configs(self, connector: str) -> tuple[Config, ...]:
        """Return the configs of the connector's tasks in order; empty while the connector is inconsistent."""
        return tuple(self.task_configs[task] for task in self.tasks(connector) if task in self.task_configs)

    def task_config(self, task: ConnectorTaskId) -> Config | None:
        return self.task_configs.get(task)
