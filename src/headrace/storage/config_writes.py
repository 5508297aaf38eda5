# SPDX-License-Identifier: Apache-2.0
"""The writes that change the cluster's configuration, each one atomic. Shared by distributed and standalone workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import Config, OffsetsTopic, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState


@dataclass(frozen=True, slots=True)
class ConnectorWrite:
    """Create or configure a connector, together with its target state where one is given."""

    name: str
    config: Config
    target_state: TargetState | None = None


@dataclass(frozen=True, slots=True)
class ConnectorRemoval:
    """Remove every record about a connector; ``with_offsets``: note that its offsets are to be deleted as well."""

    name: str
    with_offsets: bool = False


@dataclass(frozen=True, slots=True)
class OffsetsDeletedWrite:
    """Record that the offsets of a connector that was removed with them are deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class TaskConfigsWrite:
    """Replace the connector's tasks by as many as there are ``configs``."""

    name: str
    configs: Sequence[Config]


@dataclass(frozen=True, slots=True)
class TargetStateWrite:
    """Change the target state; STOPPED removes the connector's tasks at the same moment (KIP-875)."""

    name: str
    state: TargetState


@dataclass(frozen=True, slots=True)
class TaskCountWrite:
    """Record the number of producers for the next round of zombie fencing, after a round (KIP-618)."""

    name: str
    tasks: int


@dataclass(frozen=True, slots=True)
class SessionKeyWrite:
    """Replace the key that signs requests between workers (KIP-507)."""

    key: SessionKey


@dataclass(frozen=True, slots=True)
class OffsetsTopicWrite:
    """Record the topic that the source offsets are in, unless that is known."""

    topic: OffsetsTopic


@dataclass(frozen=True, slots=True)
class RestartWrite:
    """Request every worker to restart its part of a connector (KIP-745); ``count`` if the leader does so itself."""

    name: str
    only_failed: bool
    include_tasks: bool
    count: RestartCount | None = None


@dataclass(frozen=True, slots=True)
class TaskRestartWrite:
    """Request the task's worker to restart it; ``count`` if the leader does so itself."""

    id: ConnectorTaskId
    count: RestartCount | None = None


@dataclass(frozen=True, slots=True)
class LoggerLevelWrite:
    """Set a logger's level on every worker (KIP-976)."""

    logger: str
    level: str


ConfigWrite = (
    ConnectorWrite
    | ConnectorRemoval
    | OffsetsDeletedWrite
    | TaskConfigsWrite
    | TargetStateWrite
    | TaskCountWrite
    | SessionKeyWrite
    | OffsetsTopicWrite
    | RestartWrite
    | TaskRestartWrite
    | LoggerLevelWrite
)
