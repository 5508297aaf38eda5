# SPDX-License-Identifier: Apache-2.0
"""What the herder hears: each event is one fact, from whichever thread learned it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.distributed.config_writes import ConfigWrite
from headrace.model.assignment import Assignment
from headrace.model.cluster_config_state import ClusterConfigState, Config
from headrace.model.ids import ConnectorTaskId


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
    """The group has settled; ``assignment`` is all that this worker owns now, not only what is new."""

    generation: int
    member_id: str
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class SessionLost(HerderEvent):
    """Others may be running this worker's work from now on (invariant 10)."""


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
class TasksStopped(HerderEvent):
    """Their processes are proved gone."""

    ids: tuple[ConnectorTaskId, ...]


@dataclass(frozen=True, slots=True)
class WriteRequested(HerderEvent):
    """Someone wants a change of the config topic."""

    write: ConfigWrite


@dataclass(frozen=True, slots=True)
class WritesClaimed(HerderEvent):
    """This worker is the only writer of the config topic and has read it to its end since."""


@dataclass(frozen=True, slots=True)
class ClaimFailed(HerderEvent):
    pass


@dataclass(frozen=True, slots=True)
class ClaimDue(HerderEvent):
    """Time to try again."""


@dataclass(frozen=True, slots=True)
class WriteDone(HerderEvent):
    """It is in the topic; its updates came before this event."""

    write: ConfigWrite


@dataclass(frozen=True, slots=True)
class WriteFailed(HerderEvent):
    """``fenced``: not written, because another leader has taken over the topic."""

    write: ConfigWrite
    error: Exception
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class FencingDone(HerderEvent):
    """The producers of older generations than ``generation`` of task configs can write no more (invariant 2)."""

    connector: str
    generation: int


@dataclass(frozen=True, slots=True)
class FencingFailed(HerderEvent):
    connector: str


@dataclass(frozen=True, slots=True)
class FencingDue(HerderEvent):
    """Time to try again."""

    connector: str


@dataclass(frozen=True, slots=True)
class StopRequested(HerderEvent):
    """The worker is to end."""
