# SPDX-License-Identifier: Apache-2.0
"""What the herder's core wants done. Whatever takes time comes back as an event."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.distributed.config_writes import ConfigWrite
from headrace.distributed.herder_events import HerderEvent
from headrace.model.cluster_config_state import ClusterConfigState, Config
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState


class HerderAction:
    """Marks the actions that the herder's shell can do."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Join(HerderAction):
    """Become a member of the group."""


@dataclass(frozen=True, slots=True)
class Rejoin(HerderAction):
    """Ask for a rebalance."""


@dataclass(frozen=True, slots=True)
class Leave(HerderAction):
    """Nothing runs here any more: leave the group and end."""


@dataclass(frozen=True, slots=True)
class CatchUp(HerderAction):
    """Read the config topic to its end, and ask for a rebalance afterwards if ``rejoin``."""

    rejoin: bool


@dataclass(frozen=True, slots=True)
class FindType(HerderAction):
    connector_class: str


@dataclass(frozen=True, slots=True)
class StartConnector(HerderAction):
    name: str
    config: Config
    target: TargetState


@dataclass(frozen=True, slots=True)
class StopConnector(HerderAction):
    name: str


@dataclass(frozen=True, slots=True)
class SetConnectorTarget(HerderAction):
    name: str
    target: TargetState


@dataclass(frozen=True, slots=True)
class ComputeTaskConfigs(HerderAction):
    name: str


@dataclass(frozen=True, slots=True)
class StartTask(HerderAction):
    id: ConnectorTaskId
    connector_config: Config
    task_config: Config
    target: TargetState


@dataclass(frozen=True, slots=True)
class StopTasks(HerderAction):
    ids: tuple[ConnectorTaskId, ...]


@dataclass(frozen=True, slots=True)
class SetTaskTarget(HerderAction):
    id: ConnectorTaskId
    target: TargetState


@dataclass(frozen=True, slots=True)
class ClaimWrites(HerderAction):
    """Fence the former leader and read the config topic to its end (invariant 7)."""


@dataclass(frozen=True, slots=True)
class ReleaseWrites(HerderAction):
    pass


@dataclass(frozen=True, slots=True)
class Write(HerderAction):
    """Make this change; one at a time."""

    write: ConfigWrite


@dataclass(frozen=True, slots=True)
class Fence(HerderAction):
    """Fence ``producers`` task producers of the connector, unless ``generation`` is no longer its newest."""

    connector: str
    generation: int
    producers: int
    config: Config


@dataclass(frozen=True, slots=True)
class Reply(HerderAction):
    """The end of request ``request``; ``created``: it made a connector that was not there."""

    request: int
    error: Exception | None = None
    created: bool = False


@dataclass(frozen=True, slots=True)
class RefuseNotLeader(HerderAction):
    """The end of a request that only the leader can serve."""

    request: int
    leader_url: str


@dataclass(frozen=True, slots=True)
class Later(HerderAction):
    """Hear ``event`` after ``delay`` seconds."""

    delay: float
    event: HerderEvent


@dataclass(frozen=True, slots=True)
class SweepStatuses(HerderAction):
    """Remove the statuses of connectors and tasks that ``config`` does not have."""

    config: ClusterConfigState
