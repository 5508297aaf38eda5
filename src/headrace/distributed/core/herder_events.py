# SPDX-License-Identifier: Apache-2.0
"""What the herder hears: each event is one fact, from whichever thread learned it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.distributed.core.config_writes import OffsetsRequest, WriteRequest
from headrace.model.assignment import Assignment
from headrace.model.cluster_config_state import ClusterConfigState, Config, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.offsets import OffsetsChanged


class HerderEvent:
    """Marks the events that the herder's core understands."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class StoresStarted(HerderEvent):
    """The internal topics have been read to their ends."""

    config: ClusterConfigState


@dataclass(frozen=True, slots=True)
class ConfigUpdated(HerderEvent):
    """The config topic has moved on; ``connectors`` and ``tasks`` name whose configs were written, in order."""

    config: ClusterConfigState
    connectors: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assigned(HerderEvent):
    """The group has settled; ``assignment`` is all that this worker owns now, not only what is new.

    ``sessioned``: the protocol that all members know has session keys (KIP-507). ``number`` counts what this worker
    hears of its membership, together with ``SessionLost``.
    """

    generation: int
    member_id: str
    assignment: Assignment
    sessioned: bool = True
    number: int = 0


@dataclass(frozen=True, slots=True)
class SessionLost(HerderEvent):
    """Others may be running this worker's work from now on (invariant 10).

    Also before each join in the eager protocol, where everything is given up first.
    """

    number: int = 0


@dataclass(frozen=True, slots=True)
class RejoinDue(HerderEvent):
    """The delay that came with the assignment of ``generation`` is over."""

    generation: int


@dataclass(frozen=True, slots=True)
class SyncDue(HerderEvent):
    """The patience with the lag that began at membership event ``number`` is over (worker.sync.timeout.ms)."""

    number: int


@dataclass(frozen=True, slots=True)
class CaughtUp(HerderEvent):
    """A read of the config topic to its end is over, well or not; its updates came before this event."""

    rejoin: bool


@dataclass(frozen=True, slots=True)
class TypeFound(HerderEvent):
    """What kind of connector a class is: source, sink or unknown."""

    connector_class: str
    type: str


@dataclass(frozen=True, slots=True)
class ConnectorStarted(HerderEvent):
    """It is what its target state says, which a failed one is again after it was stopped and resumed."""

    name: str


@dataclass(frozen=True, slots=True)
class ConnectorFailed(HerderEvent):
    """One of its methods failed, or it could not be made; the status topic says why."""

    name: str


@dataclass(frozen=True, slots=True)
class ConnectorStopped(HerderEvent):
    name: str


@dataclass(frozen=True, slots=True)
class ReconfigurationRequested(HerderEvent):
    """Connector ``name``, one of its tasks, or a timer wants its task configs made anew."""

    name: str


@dataclass(frozen=True, slots=True)
class TaskConfigsComputed(HerderEvent):
    name: str
    configs: Sequence[Config]


@dataclass(frozen=True, slots=True)
class TaskConfigsFailed(HerderEvent):
    """It may work later (``RetriableError``)."""

    name: str


@dataclass(frozen=True, slots=True)
class TaskConfigsPublished(HerderEvent):
    """The leader has taken over the task configs of a connector of this follower."""

    name: str


@dataclass(frozen=True, slots=True)
class PublicationFailed(HerderEvent):
    """The leader has not, or nobody can tell."""

    name: str


@dataclass(frozen=True, slots=True)
class TasksStopped(HerderEvent):
    """Their processes are proved gone."""

    ids: tuple[ConnectorTaskId, ...]


@dataclass(frozen=True, slots=True)
class WriteRequested(HerderEvent):
    """Someone wants a change of the config topic."""

    write: WriteRequest


@dataclass(frozen=True, slots=True)
class RestartRequested(HerderEvent):
    """The config topic asks for a restart of a connector, of its tasks too or of what has failed alone (KIP-745)."""

    name: str
    only_failed: bool
    include_tasks: bool


@dataclass(frozen=True, slots=True)
class RestartPlanned(HerderEvent):
    """What a restart means by the statuses that there are; whatever of it is here is restarted."""

    connectors: tuple[str, ...]
    tasks: tuple[ConnectorTaskId, ...]


@dataclass(frozen=True, slots=True)
class OffsetsRequested(HerderEvent):
    """Someone wants a change of a connector's offsets."""

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
    """They are deleted, or nobody can delete them."""

    name: str


@dataclass(frozen=True, slots=True)
class RemovedOffsetsStay(HerderEvent):
    """They could not be deleted for now."""

    name: str


@dataclass(frozen=True, slots=True)
class WritesClaimed(HerderEvent):
    """This worker is the only writer of the config topic and has read it to its end since."""


@dataclass(frozen=True, slots=True)
class ClaimFailed(HerderEvent):
    """``error`` says why, None if another claim may well succeed."""

    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class ClaimDue(HerderEvent):
    """Time to try again."""


@dataclass(frozen=True, slots=True)
class WriteDone(HerderEvent):
    """It is in the topic; its updates came before this event."""

    write: WriteRequest


@dataclass(frozen=True, slots=True)
class WriteFailed(HerderEvent):
    """``fenced``: not written, because another leader has taken over the topic."""

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
    """``trace`` is for the status of the tasks that waited; none if ``error`` may pass by itself."""

    connector: str
    generation: int
    error: Exception | None = None
    trace: str = ""


@dataclass(frozen=True, slots=True)
class FencingDue(HerderEvent):
    """Time to try again."""

    connector: str


@dataclass(frozen=True, slots=True)
class FencingRequested(HerderEvent):
    """Another worker waits for the round of fencing of a connector's newest tasks (KIP-618)."""

    request: int
    connector: str


@dataclass(frozen=True, slots=True)
class FencingAnswered(HerderEvent):
    """What the leader said to a request for a round of fencing; ``trace`` and ``error`` as in ``FencingFailed``.

    Where there is no error, the config topic was read to its end since, and its updates came before this event.
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
    """All such statuses are removed; or not, and it has to be tried again."""

    failed: bool = False


@dataclass(frozen=True, slots=True)
class HealthAsked(HerderEvent):
    """Somebody wants to know whether this worker serves requests (KIP-1017)."""

    request: int


@dataclass(frozen=True, slots=True)
class StopRequested(HerderEvent):
    """The worker is to end."""
