# SPDX-License-Identifier: Apache-2.0
"""What the herder's core wants done. Whatever takes time comes back as an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.distributed.core.config_writes import OffsetsRequest, WriteRequest
from headrace.distributed.core.herder_events import HerderEvent
from headrace.distributed.core.session_keys import SessionKeyRules
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.offsets import OffsetsChanged
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
class StepOut(HerderAction):
    """Leave the group, and join it again by oneself after ``pause`` seconds at the earliest."""

    pause: float


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
class FailTask(HerderAction):
    """Tell that a task cannot be started; nothing of it runs."""

    id: ConnectorTaskId
    trace: str


@dataclass(frozen=True, slots=True)
class StopTasks(HerderAction):
    ids: tuple[ConnectorTaskId, ...]


@dataclass(frozen=True, slots=True)
class SetTaskTarget(HerderAction):
    id: ConnectorTaskId
    target: TargetState


@dataclass(frozen=True, slots=True)
class PlanRestart(HerderAction):
    """Find out from the statuses what a restart means."""

    name: str
    only_failed: bool
    include_tasks: bool


@dataclass(frozen=True, slots=True)
class TellRestart(HerderAction):
    """A connector or task is about to be started again because somebody asked for it."""

    id: str | ConnectorTaskId


@dataclass(frozen=True, slots=True)
class ClaimWrites(HerderAction):
    """Fence the former leader and read the config topic to its end (invariant 7)."""


@dataclass(frozen=True, slots=True)
class ReleaseWrites(HerderAction):
    pass


@dataclass(frozen=True, slots=True)
class Write(HerderAction):
    """Make this change; one at a time."""

    write: WriteRequest


@dataclass(frozen=True, slots=True)
class PublishTaskConfigs(HerderAction):
    """Give the leader the task configs that a connector on this follower has made."""

    name: str
    configs: Sequence[Config]
    leader_url: str


@dataclass(frozen=True, slots=True)
class WatchSessionKey(HerderAction):
    """Tell when the key has reached the age that ``rules`` allow."""

    key: SessionKey
    rules: SessionKeyRules


@dataclass(frozen=True, slots=True)
class Fence(HerderAction):
    """Fence ``producers`` task producers of the connector, unless ``generation`` is no longer its newest."""

    connector: str
    generation: int
    producers: int
    config: Config


@dataclass(frozen=True, slots=True)
class AskForFencing(HerderAction):
    """Ask the leader to fence all producers of the connector's tasks before ``generation``, and read what it wrote."""

    connector: str
    generation: int
    leader_url: str


@dataclass(frozen=True, slots=True)
class ChangeOffsets(HerderAction):
    """Change the offsets of a connector that is stopped and whose former tasks are fenced (KIP-875)."""

    wanted: OffsetsRequest
    config: Config


@dataclass(frozen=True, slots=True)
class DeleteRemovedOffsets(HerderAction):
    """Fence ``producers`` task producers of a connector that is no more, and delete its offsets."""

    name: str
    config: Config
    producers: int


@dataclass(frozen=True, slots=True)
class Reply(HerderAction):
    """The end of request ``request``; ``created``: it made a connector that was not there."""

    request: int
    error: Exception | None = None
    created: bool = False
    result: OffsetsChanged | None = None
    """Of a change of offsets."""


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
    """Remove the statuses of connectors and tasks that do not exist."""
