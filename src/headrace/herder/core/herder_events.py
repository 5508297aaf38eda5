# SPDX-License-Identifier: Apache-2.0
"""The events that the herder reacts to: each is one fact, posted by any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.herder.core.config_writes import OffsetsRequest, WriteRequest
from headrace.model.assignment import Assignment
from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import ClusterConfigState, Config, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import OffsetsChanged


@dataclass(frozen=True, slots=True)
class Failure:
    """A connector or task that is FAILED since ``failed_ms``; ``permanent``: by a mistake that a restart repeats."""

    id: str | ConnectorTaskId
    failed_ms: int
    permanent: bool = False


class HerderEvent:
    """Base class of the events of the herder's core."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class StoresStarted(HerderEvent):
    """The internal topics have been read to their ends."""

    config: ClusterConfigState


@dataclass(frozen=True, slots=True)
class ConfigUpdated(HerderEvent):
    """The config topic has moved on; ``connectors`` and ``tasks`` name the connectors with new configs, in order."""

    config: ClusterConfigState
    connectors: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assigned(HerderEvent):
    """A rebalance is complete; ``assignment`` is all that this worker owns now, not only its new work.

    ``sessioned``: the protocol that all members know has session keys (KIP-507). ``number`` counts the events of this
    worker's membership, together with ``SessionLost``.
    """

    generation: int
    member_id: str
    assignment: Assignment
    sessioned: bool = True
    number: int = 0


@dataclass(frozen=True, slots=True)
class SessionLost(HerderEvent):
    """Others may be running this worker's work from now on (invariant 10).

    Posted also before each join in the eager protocol, in which all work is given up first.
    """

    number: int = 0


@dataclass(frozen=True, slots=True)
class RejoinDue(HerderEvent):
    """The delay that came with the assignment of ``generation`` is over."""

    generation: int


@dataclass(frozen=True, slots=True)
class SyncDue(HerderEvent):
    """The time allowed for the lag that began at membership event ``number`` is over (worker.sync.timeout.ms)."""

    number: int


@dataclass(frozen=True, slots=True)
class CaughtUp(HerderEvent):
    """A read of the config topic to its end has succeeded or failed; its updates came before this event."""

    rejoin: bool


@dataclass(frozen=True, slots=True)
class TypeFound(HerderEvent):
    """The type of a connector class: source, sink or unknown."""

    connector_class: str
    type: str


@dataclass(frozen=True, slots=True)
class ConnectorStarted(HerderEvent):
    """A connector is in its target state. A failed one is so again after it was stopped and resumed."""

    name: str


@dataclass(frozen=True, slots=True)
class ConnectorFailed(HerderEvent):
    """A connector's method failed for ``error``, or it could not be created; its status shows the reason."""

    name: str
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class ConnectorStopped(HerderEvent):
    """A connector on this worker has ended."""

    name: str


@dataclass(frozen=True, slots=True)
class ReconfigurationRequested(HerderEvent):
    """Connector ``name``, one of its tasks, or a timer requests new task configs."""

    name: str


@dataclass(frozen=True, slots=True)
class StartAwaited(HerderEvent):
    """A client waits until a connector and its tasks have started on this worker, which is alone."""

    request: int
    name: str


@dataclass(frozen=True, slots=True)
class TaskConfigsComputed(HerderEvent):
    """A connector has returned its task configs."""

    name: str
    configs: Sequence[Config]


@dataclass(frozen=True, slots=True)
class TaskConfigsFailed(HerderEvent):
    """A connector could not make its task configs for now (``RetriableError``). ``at``: seconds, monotonic."""

    name: str
    error: Exception
    at: float


@dataclass(frozen=True, slots=True)
class TaskConfigsPublished(HerderEvent):
    """The leader has accepted the task configs of a connector on this follower."""

    name: str


@dataclass(frozen=True, slots=True)
class PublicationFailed(HerderEvent):
    """The leader has not accepted the task configs, or its answer was lost. ``at``: seconds, monotonic."""

    name: str
    error: Exception
    at: float


@dataclass(frozen=True, slots=True)
class TasksStopped(HerderEvent):
    """Tasks have ended: their processes are known to be gone."""

    ids: tuple[ConnectorTaskId, ...]


@dataclass(frozen=True, slots=True)
class WriteRequested(HerderEvent):
    """A user or a worker requests a change of the config topic."""

    write: WriteRequest


@dataclass(frozen=True, slots=True)
class RestartRequested(HerderEvent):
    """The config topic holds a request to restart a connector, its tasks too, or only those that failed (KIP-745)."""

    name: str
    only_failed: bool
    include_tasks: bool


@dataclass(frozen=True, slots=True)
class RestartPlanned(HerderEvent):
    """The connectors and tasks that a restart affects by their statuses; those on this worker are restarted."""

    connectors: tuple[str, ...]
    tasks: tuple[ConnectorTaskId, ...]


@dataclass(frozen=True, slots=True)
class AutomaticRestartRequested(HerderEvent):
    """The config topic holds the leader's request to restart a connector or task, if it is still FAILED."""

    id: str | ConnectorTaskId
    count: RestartCount


@dataclass(frozen=True, slots=True)
class FailureSeen(HerderEvent):
    """The status topic holds a new FAILED status."""


@dataclass(frozen=True, slots=True)
class FailuresDue(HerderEvent):
    """Time to read the failures again; ``number`` is that of the newest timer, older ones count no more."""

    number: int


@dataclass(frozen=True, slots=True)
class FailuresRead(HerderEvent):
    """All failures in the status topic, read at ``now_ms`` since the epoch."""

    failures: tuple[Failure, ...]
    now_ms: int


@dataclass(frozen=True, slots=True)
class OffsetsRequested(HerderEvent):
    """A user requests a change of a connector's offsets."""

    wanted: OffsetsRequest


@dataclass(frozen=True, slots=True)
class OffsetsEnded(HerderEvent):
    """A change of offsets is done, or has failed."""

    wanted: OffsetsRequest
    result: OffsetsChanged | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class RemovedOffsetsDue(HerderEvent):
    """Time to try again to delete the offsets of a connector that was removed with them."""

    name: str


@dataclass(frozen=True, slots=True)
class RemovedOffsetsGone(HerderEvent):
    """A removed connector's offsets are deleted, or can never be for ``error``."""

    name: str
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class RemovedOffsetsStay(HerderEvent):
    """A removed connector's offsets could not be deleted for now, for ``error``."""

    name: str
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class WritesClaimed(HerderEvent):
    """This worker is the only writer of the config topic and has read it to its end since."""


@dataclass(frozen=True, slots=True)
class ClaimFailed(HerderEvent):
    """A claim of the config topic failed for ``error``; None if another claim may well succeed."""

    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class ClaimDue(HerderEvent):
    """Time to claim the config topic again."""


@dataclass(frozen=True, slots=True)
class WriteDone(HerderEvent):
    """A change is in the config topic; its updates came before this event."""

    write: WriteRequest


@dataclass(frozen=True, slots=True)
class WriteFailed(HerderEvent):
    """A change could not be written; ``fenced``: because another leader has taken over the config topic."""

    write: WriteRequest
    error: Exception
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class FencingDone(HerderEvent):
    """The producers of older generations than ``generation`` of task configs can write no more (invariant 2)."""

    connector: str
    generation: int


@dataclass(frozen=True, slots=True)
class FencingFailed(HerderEvent):
    """A round failed; ``trace`` is for the status of the tasks that waited, empty if ``error`` is retriable."""

    connector: str
    generation: int
    error: Exception | None = None
    trace: str = ""


@dataclass(frozen=True, slots=True)
class FencingDue(HerderEvent):
    """Time to try a round of fencing again."""

    connector: str


@dataclass(frozen=True, slots=True)
class FencingRequested(HerderEvent):
    """Another worker waits for the round of fencing of a connector's newest tasks (KIP-618)."""

    request: int
    connector: str


@dataclass(frozen=True, slots=True)
class FencingAnswered(HerderEvent):
    """The leader's answer to a request for a round of fencing; ``trace`` and ``error`` as in ``FencingFailed``.

    If there is no error, the config topic was read to its end since, and its updates came before this event.
    """

    connector: str
    generation: int
    error: Exception | None = None
    trace: str = ""


@dataclass(frozen=True, slots=True)
class FencingAskDue(HerderEvent):
    """Time to ask the leader again."""

    connector: str


@dataclass(frozen=True, slots=True)
class SessionKeyExpired(HerderEvent):
    """The key has reached its age."""

    key: SessionKey


@dataclass(frozen=True, slots=True)
class StrayStatusSeen(HerderEvent):
    """There is, or may be, a status of a connector or task that does not exist."""


@dataclass(frozen=True, slots=True)
class SweepEnded(HerderEvent):
    """All stray statuses are removed, or the attempt ``failed`` and has to be repeated."""

    failed: bool = False


@dataclass(frozen=True, slots=True)
class HealthAsked(HerderEvent):
    """A client asks whether this worker serves requests (KIP-1017)."""

    request: int


@dataclass(frozen=True, slots=True)
class StopRequested(HerderEvent):
    """The worker is to stop."""
