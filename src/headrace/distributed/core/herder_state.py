# SPDX-License-Identifier: Apache-2.0
"""All that the herder knows, as frozen values: the config topic, its membership, what runs here, what it leads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.distributed.core.config_writes import OffsetsRequest, WriteRequest
from headrace.distributed.core.session_keys import SessionKeyRules
from headrace.model.cluster_config_state import ClusterConfigState, Config, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState


class Phase(Enum):
    """The herder's life."""

    STARTING = "starting"
    ACTIVE = "active"
    STOPPING = "stopping"
    STOPPED = "stopped"


class RunPhase(Enum):
    """A connector's life on this worker."""

    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    STOPPING = "stopping"


class Privileges(Enum):
    """Whether this worker may write the config topic."""

    NONE = "none"
    CLAIMING = "claiming"
    HELD = "held"
    WAITING = "waiting"
    """A claim failed, or another leader took over; the next claim waits for its time."""


@dataclass(frozen=True, slots=True)
class ConnectorRun:
    """A connector on this worker. ``config`` and ``target`` are those that it was last given."""

    phase: RunPhase
    config: Config
    target: TargetState
    stale: bool = False
    """Its config was written again: it has to be restarted."""
    reconfigure: bool = False
    """Its task configs have to be made anew as soon as it runs."""
    computing: bool = False
    failures: int = 0
    """How often in a row making its task configs, or giving them to the leader, failed."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task on this worker. ``generation`` is the offset of the task configs' commit that it was started from."""

    generation: int
    target: TargetState
    stopping: bool = False
    stale: bool = False
    """Somebody wants it restarted."""


@dataclass(frozen=True, slots=True)
class FencingAsked:
    """What the leader at ``leader_url`` was asked for: fence all before ``generation`` of task configs."""

    generation: int
    leader_url: str


@dataclass(frozen=True, slots=True)
class Membership:
    """One generation of the group. ``connectors`` and ``tasks`` are this worker's.

    ``config_offset`` is how far the leader had read the config topic when it made the assignment.
    """

    generation: int
    member_id: str
    leader_id: str
    leader_url: str
    config_offset: int
    connectors: frozenset[str]
    tasks: frozenset[ConnectorTaskId]
    sessioned: bool = True
    """Whether all members can sign what they ask of each other."""
    revoked_connectors: frozenset[str] = frozenset()
    revoked_tasks: frozenset[ConnectorTaskId] = frozenset()
    """What was taken from this worker: it has to join again as soon as that is stopped, so that others may have it."""

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self.member_id


@dataclass(frozen=True, slots=True)
class SyncRules:
    """How long a worker may lag behind the config topic, in seconds."""

    timeout: float = 3.0
    """worker.sync.timeout.ms: for whom others wait, or could do the work of."""
    patience: float = 86.5
    """For one whose lag harms nobody but the work that it was newly given."""
    pause: float = 6.0
    """How long it stays out of the group at least, once it has left."""


@dataclass(frozen=True, slots=True)
class Lag:
    """The config topic is not read as far as a round of the group rests upon. ``number`` is that membership event's."""

    number: int
    blocking: bool
    """Whether the group cannot settle before this worker has caught up, or has left."""


@dataclass(frozen=True, slots=True)
class Leadership:
    """The writer's side of the config topic. One write at a time, so each is judged by the state that it meets."""

    privileges: Privileges = Privileges.NONE
    queue: tuple[WriteRequest, ...] = ()
    writing: WriteRequest | None = None
    fencing: Mapping[str, int] = field(default_factory=dict)
    """Connectors with a round of zombie fencing under way, and for which generation of task configs."""
    fencing_requests: tuple[tuple[int, str], ...] = ()
    """Requests of other workers that wait for the round of fencing of a connector."""
    watched_key: SessionKey | None = None
    """The session key whose age is watched over."""
    offset_requests: tuple[OffsetsRequest, ...] = ()
    """Those that wait for their turn or for a round of fencing."""
    changing_offsets: frozenset[str] = frozenset()
    """Connectors whose offsets are being changed: nothing else is written about them meanwhile."""
    deleting_offsets: frozenset[str] = frozenset()
    """Connectors that were removed with their offsets, which are being deleted."""
    sweeping: bool = False
    """Statuses of what does not exist are being removed: nothing that could have a status is created meanwhile."""


@dataclass(frozen=True, slots=True)
class HerderState:
    """What the core knows. Never changed, so any thread may read a published one."""

    exactly_once: bool
    session_keys: SessionKeyRules | None = None
    """None if this worker's ``connect.protocol`` knows no session keys."""
    phase: Phase = Phase.STARTING
    config: ClusterConfigState = field(default_factory=ClusterConfigState)
    membership: Membership | None = None
    """None while there is no session."""
    heard: int = 0
    """Number of the last event about the membership that was taken over."""
    topology_offset: int = -1
    """Offset of the config topic when connectors or tasks last came or went: older assignments do not know of it."""
    rejoining: bool = False
    catching_up: bool = False
    sync: SyncRules = field(default_factory=SyncRules)
    needed_offset: int = -1
    """How far the config topic has to be read for the newest round of the group that this worker heard of."""
    lag: Lag | None = None
    stepping_out: bool = False
    """It is to leave the group for a while, as soon as nothing runs here any more."""
    connectors: Mapping[str, ConnectorRun] = field(default_factory=dict)
    tasks: Mapping[ConnectorTaskId, TaskRun] = field(default_factory=dict)
    unapplied: frozenset[str] = frozenset()
    """Connectors whose config has changed since their last task configs."""
    types: Mapping[str, str | None] = field(default_factory=dict)
    """Connector class to source, sink or unknown; None while that is being found out."""
    leadership: Leadership = field(default_factory=Leadership)
    fencing_asked: Mapping[str, FencingAsked] = field(default_factory=dict)
    """Connectors for whose tasks here the leader was asked for a round of zombie fencing."""
    restarting: frozenset[str | ConnectorTaskId] = frozenset()
    """What somebody wants restarted and has not been started again yet."""
    health_asked: tuple[int, ...] = ()
    """Requests that are answered as soon as this worker is one of the group."""
    sweep: bool = False
    """There may be statuses of what does not exist; the leader removes them, and others when they become the leader."""

    @property
    def is_leader(self) -> bool:
        return self.membership is not None and self.membership.is_leader

    @property
    def signed(self) -> bool:
        """Whether workers have to sign what they ask of each other (KIP-507)."""
        return self.session_keys is not None and (self.membership is None or self.membership.sessioned)

    @property
    def in_step(self) -> bool:
        """Whether this worker has read the config topic as far as its assignment rests upon."""
        return self.membership is not None and self.config.offset >= self.membership.config_offset

    @property
    def rebalance_pending(self) -> bool:
        """Whether work is about to be moved, so that nobody can say yet who runs what."""
        membership = self.membership
        if membership is None or self.rejoining or not self.in_step:
            return True
        revoking = membership.revoked_connectors or membership.revoked_tasks
        return bool(revoking) or membership.config_offset < self.topology_offset

    def wanted_connectors(self) -> frozenset[str]:
        """The connectors that are to run here."""
        if self.phase is not Phase.ACTIVE or self.membership is None:
            return frozenset()
        return frozenset(name for name in self.membership.connectors if self.config.contains(name))

    def wanted_tasks(self) -> frozenset[ConnectorTaskId]:
        """The tasks that are to run here."""
        if self.phase is not Phase.ACTIVE or self.membership is None:
            return frozenset()
        return frozenset(
            id
            for id in self.membership.tasks
            if self.config.contains(id.connector) and id in self.config.tasks(id.connector)
        )

    def type_of(self, connector: str) -> str | None:
        """source, sink, unknown, or None if not found out yet."""
        config = self.config.connector_config(connector)
        return None if config is None else self.types.get(config.get(CONNECTOR_CLASS) or "")

    def awaits_fencing(self, connector: str) -> bool:
        """Whether its tasks may not start yet for want of a task count record (invariant 6)."""
        return self.exactly_once and self.lacks_task_count(connector)

    def lacks_task_count(self, connector: str) -> bool:
        """Whether its latest task configs are not followed by a task count record, and it is no sink."""
        return connector in self.config.pending_fencing and self.type_of(connector) in ("source", None)

    def assignment_knows(self, connector: str) -> bool:
        """Whether the assignment was made with the connector's newest task configs."""
        membership, generation = self.membership, self.config.task_config_offsets.get(connector)
        if membership is None or generation is None or not self.in_step:
            return False
        return membership.config_offset >= generation

    def outdated_tasks(self, config: ClusterConfigState) -> frozenset[ConnectorTaskId]:
        """Source tasks here that a round of fencing will shut out by ``config``: their configs are not the newest."""
        if not self.exactly_once:
            return frozenset()
        return frozenset(
            id
            for id, run in self.tasks.items()
            if id.connector in config.pending_fencing
            and run.generation != config.task_config_offsets.get(id.connector)
            and self.type_of(id.connector) in ("source", None)
        )

    def waits_for_fencing(self) -> tuple[str, ...]:
        """Connectors with tasks here that wait for nothing but a round of zombie fencing, sorted.

        While former tasks run here still, they are waited for: they are to commit what they have.
        """
        former = {id.connector for id in self.outdated_tasks(self.config)}
        waiting = {id.connector for id in self.wanted_tasks() - self.tasks.keys()} - former
        return tuple(
            sorted(
                name
                for name in waiting
                if self.awaits_fencing(name) and self.type_of(name) == "source" and self.assignment_knows(name)
            )
        )

    def refusal(self, id: ConnectorTaskId, config: ClusterConfigState) -> str | None:
        """Return why a task that was started here may not go on, by ``config``, the newest state of the config topic.

        None if it may.
        """
        run = self.tasks.get(id)
        if run is None or id not in self.wanted_tasks():
            return "it is not assigned to this worker any more"
        if run.stopping or run.stale:
            return "it is being stopped"
        newest = config.task_config_offsets.get(id.connector)
        if newest is None:
            return "its connector has been deleted"
        if newest != run.generation:
            return f"there are newer task configs, at offset {newest} and not {run.generation} of the config topic"
        if replace(self, config=config).awaits_fencing(id.connector):
            return f"no task count record follows its task configs at offset {newest} of the config topic"
        return None
