# SPDX-License-Identifier: Apache-2.0
"""The actions that the herder's core decides on. The outcome of what takes time comes back as an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.config.session_key_config import SessionKeyRules
from headrace.herder.core.config_writes import OffsetsRequest, WriteRequest
from headrace.herder.core.herder_events import HerderEvent
from headrace.herder.core.herder_state import HerderState
from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import OffsetsChanged
from headrace.model.state import TargetState


class HerderAction:
    """Base class of the actions that the herder's shell performs."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Join(HerderAction):
    """Become a member of the group."""


@dataclass(frozen=True, slots=True)
class Rejoin(HerderAction):
    """Ask for a rebalance."""


@dataclass(frozen=True, slots=True)
class StepOut(HerderAction):
    """Leave the group, and join it again after ``pause`` seconds at the earliest."""

    pause: float


@dataclass(frozen=True, slots=True)
class Leave(HerderAction):
    """Leave the group for good: nothing runs here any more."""


@dataclass(frozen=True, slots=True)
class CatchUp(HerderAction):
    """Read the config topic to its end, and ask for a rebalance afterwards if ``rejoin``."""

    rejoin: bool


@dataclass(frozen=True, slots=True)
class FindType(HerderAction):
    """Import a connector class to find out whether it is a source or a sink."""

    connector_class: str


@dataclass(frozen=True, slots=True)
class StartConnector(HerderAction):
    """Start a connector on this worker, in its target state."""

    name: str
    config: Config
    target: TargetState


@dataclass(frozen=True, slots=True)
class StopConnector(HerderAction):
    """Stop a connector on this worker."""

    name: str


@dataclass(frozen=True, slots=True)
class SetConnectorTarget(HerderAction):
    """Pause, stop or resume a connector on this worker."""

    name: str
    target: TargetState


@dataclass(frozen=True, slots=True)
class ComputeTaskConfigs(HerderAction):
    """Ask a connector on this worker for its task configs."""

    name: str


@dataclass(frozen=True, slots=True)
class StartTask(HerderAction):
    """Start a task on this worker, in its target state."""

    id: ConnectorTaskId
    connector_config: Config
    task_config: Config
    target: TargetState


@dataclass(frozen=True, slots=True)
class FailTask(HerderAction):
    """Report that a task cannot be started; nothing of it runs."""

    id: ConnectorTaskId
    trace: str


@dataclass(frozen=True, slots=True)
class StopTasks(HerderAction):
    """Stop tasks on this worker."""

    ids: tuple[ConnectorTaskId, ...]


@dataclass(frozen=True, slots=True)
class SetTaskTarget(HerderAction):
    """Pause or resume a task on this worker."""

    id: ConnectorTaskId
    target: TargetState


@dataclass(frozen=True, slots=True)
class PlanRestart(HerderAction):
    """Choose by their statuses the connector and tasks that a restart affects."""

    name: str
    only_failed: bool
    include_tasks: bool


@dataclass(frozen=True, slots=True)
class RestartFailed(HerderAction):
    """Restart a connector or task automatically if it is FAILED on this worker."""

    id: str | ConnectorTaskId
    count: RestartCount


@dataclass(frozen=True, slots=True)
class ReadFailures(HerderAction):
    """Read all failures in the status topic."""


@dataclass(frozen=True, slots=True)
class ReportGivenUp(HerderAction):
    """Report that a failed connector or task is not restarted automatically any more, for ``reason``."""

    id: str | ConnectorTaskId
    reason: str


@dataclass(frozen=True, slots=True)
class ReportRestart(HerderAction):
    """Report that a connector or task is about to be started again on request."""

    id: str | ConnectorTaskId


@dataclass(frozen=True, slots=True)
class ClaimWrites(HerderAction):
    """Fence the former leader and read the config topic to its end (invariant 7)."""


@dataclass(frozen=True, slots=True)
class ReleaseWrites(HerderAction):
    """Write the config topic no more."""


@dataclass(frozen=True, slots=True)
class Write(HerderAction):
    """Write this change to the config topic, beside changes of other subjects."""

    write: WriteRequest


@dataclass(frozen=True, slots=True)
class PublishTaskConfigs(HerderAction):
    """Send the leader the task configs of a connector on this follower."""

    name: str
    configs: Sequence[Config]
    leader_url: str


@dataclass(frozen=True, slots=True)
class WatchSessionKey(HerderAction):
    """Post an event when the key has reached the age that ``rules`` allow."""

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
    """Ask the leader to fence all producers of tasks before ``generation``, and read the record that it wrote."""

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
    """Fence ``producers`` task producers of a removed connector, and delete its offsets."""

    name: str
    config: Config
    producers: int


@dataclass(frozen=True, slots=True)
class Reply(HerderAction):
    """Answer request ``request``; ``created`` is True if it created a connector."""

    request: int
    error: Exception | None = None
    created: bool = False
    result: OffsetsChanged | None = None
    """The result of a change of offsets."""


@dataclass(frozen=True, slots=True)
class RefuseNotLeader(HerderAction):
    """Refuse a request that only the leader can serve."""

    request: int
    leader_url: str


@dataclass(frozen=True, slots=True)
class Later(HerderAction):
    """Post ``event`` after ``delay`` seconds."""

    delay: float
    event: HerderEvent


@dataclass(frozen=True, slots=True)
class SweepStatuses(HerderAction):
    """Remove the statuses of connectors and tasks that do not exist."""


Transition = tuple[HerderState, list[HerderAction]]
"""The result of each rule of the core: a state, and the actions that lead from the former one to it."""
