# SPDX-License-Identifier: Apache-2.0
"""The herder's knowledge as frozen values: the config topic, its membership, its local work, its leadership."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.config.restart_config import RestartRules
from headrace.config.session_key_config import SessionKeyRules
from headrace.herder.core.config_writes import OffsetsRequest, WriteRequest
from headrace.model.cluster_config_state import ClusterConfigState, Config, SessionKey
from headrace.model.health import TaskConfigsStage
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState


class Phase(Enum):
    """A stage of the herder's life cycle."""

    STARTING = "starting"
    ACTIVE = "active"
    STOPPING = "stopping"
    STOPPED = "stopped"


class RunPhase(Enum):
    """A stage of a connector's life cycle on this worker."""

    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    STOPPING = "stopping"


class Privileges(Enum):
    """This worker's privilege to write the config topic."""

    NONE = "none"
    CLAIMING = "claiming"
    HELD = "held"
    WAITING = "waiting"
    """A claim failed, or another leader took over; the next claim follows after a delay."""


@dataclass(frozen=True, slots=True)
class TaskConfigsFailure:
    """The newest of ``attempts`` failures in a row. Times are seconds of the worker's monotonic clock."""

    error: Exception
    stage: TaskConfigsStage
    at: float
    since: float
    attempts: int
    next_attempt: float


@dataclass(frozen=True, slots=True)
class ConnectorRun:
    """A connector on this worker. ``config`` and ``target`` are the last that it was started with or set to."""

    phase: RunPhase
    config: Config
    target: TargetState
    stale: bool = False
    """True if its config was written again, so that it has to be restarted."""
    reconfigure: bool = False
    """True if its task configs have to be computed again as soon as it runs."""
    computing: bool = False
    failure: TaskConfigsFailure | None = None
    """The newest failure to compute its task configs or to publish them, until they are accepted."""
    error: Exception | None = None
    """The reason why it is FAILED."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task on this worker. ``generation`` is the offset of the task configs' commit that it was started from."""

    generation: int
    target: TargetState
    stopping: bool = False
    stale: bool = False
    """True if a restart of it was requested."""


@dataclass(frozen=True, slots=True)
class FencingAsked:
    """A request to the leader at ``leader_url``: fence all tasks before ``generation`` of task configs."""

    generation: int
    leader_url: str


@dataclass(frozen=True, slots=True)
class Membership:
    """One generation of the group. ``connectors`` and ``tasks`` are this worker's.

    ``config_offset`` is the leader's position in the config topic when it made the assignment.
    """

    generation: int
    member_id: str
    leader_id: str
    leader_url: str
    config_offset: int
    connectors: frozenset[str]
    tasks: frozenset[ConnectorTaskId]
    sessioned: bool = True
    """True if all members can sign their requests to each other."""
    revoked_connectors: frozenset[str] = frozenset()
    revoked_tasks: frozenset[ConnectorTaskId] = frozenset()
    """Revoked work: this worker has to join again as soon as it is stopped, so that others may have it."""

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self.member_id


@dataclass(frozen=True, slots=True)
class SyncRules:
    """Limits for a worker that lags behind the config topic, in seconds."""

    timeout: float = 3.0
    """worker.sync.timeout.ms: for a lag during which others wait, or could take over the work."""
    tolerance: float = 86.5
    """For a lag that delays nothing but the work that this worker was newly given."""
    pause: float = 6.0
    """Minimum time outside of the group, once the worker has left."""


@dataclass(frozen=True, slots=True)
class Lag:
    """A config topic that is not read as far as a rebalance requires. ``number`` is that of the membership event."""

    number: int
    blocking: bool
    """True if the group cannot complete a rebalance before this worker has caught up or left."""


class Watching(Enum):
    """A stage of the leader's watch over failures."""

    OFF = "off"
    """Nothing is to be restarted automatically, or this worker does not lead."""
    SETTLING = "settling"
    """A new leader waits: what the group has just assigned may be starting, and is FAILED in its old status."""
    ON = "on"


@dataclass(frozen=True, slots=True)
class FailureWatch:
    """The leader's watch over failures. ``timer`` is the newest timer's number, ``due_ms`` its time if it is set."""

    stage: Watching = Watching.OFF
    timer: int = 0
    due_ms: int | None = None
    given_up: frozenset[str | ConnectorTaskId] = frozenset()
    """Failed connectors and tasks of which it was reported that they are not restarted."""


@dataclass(frozen=True, slots=True)
class Leadership:
    """The leader's work. One write of a subject at a time: each is checked against the state that it will change."""

    privileges: Privileges = Privileges.NONE
    queue: tuple[WriteRequest, ...] = ()
    writing: tuple[WriteRequest, ...] = ()
    """Writes that are being made, each of another subject."""
    fencing: Mapping[str, int] = field(default_factory=dict)
    """The generation of task configs for which a round of zombie fencing is under way, by connector."""
    fencing_requests: tuple[tuple[int, str], ...] = ()
    """Requests of other workers, each with the connector whose round of fencing it waits for."""
    watched_key: SessionKey | None = None
    """The session key whose expiry is scheduled."""
    offset_requests: tuple[OffsetsRequest, ...] = ()
    """Changes of offsets that wait for their turn or for a round of fencing."""
    changing_offsets: frozenset[str] = frozenset()
    """Connectors whose offsets are being changed: nothing else is written about them meanwhile."""
    deleting_offsets: frozenset[str] = frozenset()
    """Connectors that were removed with their offsets, which are being deleted."""
    sweeping: bool = False
    """True while stray statuses are being removed: nothing that could have a status is created meanwhile."""
    failures: FailureWatch = FailureWatch()

    @property
    def writes(self) -> tuple[WriteRequest, ...]:
        """All writes that wait, and those that are being made."""
        return (*self.queue, *self.writing)


@dataclass(frozen=True, slots=True)
class HerderState:
    """A snapshot of the core's knowledge. Immutable, so any thread may read a published one."""

    exactly_once: bool
    session_keys: SessionKeyRules | None = None
    """None if this worker's ``connect.protocol`` knows no session keys."""
    restarts: RestartRules = field(default_factory=RestartRules)
    """Automatic restarts of connectors that have no rules of their own."""
    alone: bool = False
    """True for a standalone worker. Nothing is elsewhere, so requests wait for what still stops here."""
    phase: Phase = Phase.STARTING
    config: ClusterConfigState = field(default_factory=ClusterConfigState)
    membership: Membership | None = None
    """None while there is no session."""
    joined: bool = False
    """True once this worker has been in its group."""
    last_membership_event: int = 0
    """Number of the last membership event that was applied."""
    topology_offset: int = -1
    """Offset in the config topic of the last change of connectors or tasks: older assignments do not include it."""
    rejoining: bool = False
    catching_up: bool = False
    sync: SyncRules = field(default_factory=SyncRules)
    needed_offset: int = -1
    """Offset up to which the config topic has to be read for the newest rebalance that this worker took part in."""
    lag: Lag | None = None
    stepping_out: bool = False
    """True if this worker is to leave the group for a while, as soon as nothing runs here any more."""
    connectors: Mapping[str, ConnectorRun] = field(default_factory=dict)
    tasks: Mapping[ConnectorTaskId, TaskRun] = field(default_factory=dict)
    unapplied: frozenset[str] = frozenset()
    """Connectors whose config has changed since their last task configs."""
    types: Mapping[str, str | None] = field(default_factory=dict)
    """Connector class to source, sink or unknown; None while that is being found out."""
    leadership: Leadership = field(default_factory=Leadership)
    fencing_asked: Mapping[str, FencingAsked] = field(default_factory=dict)
    """Requests to the leader for rounds of zombie fencing that tasks here wait for, by connector."""
    restarting: frozenset[str | ConnectorTaskId] = frozenset()
    """Connectors and tasks whose requested restart is not complete yet."""
    health_asked: tuple[int, ...] = ()
    """Health checks, to be answered as soon as this worker is in the group."""
    awaited_starts: tuple[tuple[int, str], ...] = ()
    """Requests that wait for the start of a connector and its tasks."""
    awaited_removals: tuple[tuple[int, str], ...] = ()
    """Requests for removals of connectors that are written and wait until nothing is left of them."""
    sweep: bool = False
    """True if there may be stray statuses; the leader removes them, others when they become the leader."""
    settled: Mapping[object, tuple[object, ...]] = field(default_factory=dict, compare=False, repr=False)
    """By reconciler, the knowledge with which it last found nothing to do. See ``settled.unless_settled``."""

    def with_leadership(self, **changes: object) -> HerderState:
        """Return the state with ``changes`` of its leadership."""
        return replace(self, leadership=replace(self.leadership, **changes))  # type: ignore[arg-type]

    def with_write(self, write: WriteRequest) -> HerderState:
        """Return the state with ``write`` at the end of the queue."""
        return self.with_leadership(queue=(*self.leadership.queue, write))

    @property
    def is_leader(self) -> bool:
        return self.membership is not None and self.membership.is_leader

    @property
    def signed(self) -> bool:
        """True if workers have to sign their requests to each other (KIP-507)."""
        return self.session_keys is not None and (self.membership is None or self.membership.sessioned)

    @property
    def in_step(self) -> bool:
        """True if this worker has read the config topic as far as its assignment requires."""
        return self.membership is not None and self.config.offset >= self.membership.config_offset

    @property
    def rebalance_pending(self) -> bool:
        """True if work is about to move, so that its owners are not known yet."""
        membership = self.membership
        if membership is None or self.rejoining or not self.in_step:
            return True
        revoking = membership.revoked_connectors or membership.revoked_tasks
        return bool(revoking) or membership.config_offset < self.topology_offset

    def wanted_connectors(self) -> frozenset[str]:
        """Return the connectors that are to run here."""
        if self.phase is not Phase.ACTIVE or self.membership is None:
            return frozenset()
        return self.membership.connectors.intersection(self.config.connector_configs)

    def wanted_tasks(self) -> frozenset[ConnectorTaskId]:
        """Return the tasks that are to run here."""
        if self.phase is not Phase.ACTIVE or self.membership is None:
            return frozenset()
        known, counts, inconsistent = self.config.connector_configs, self.config.task_counts, self.config.inconsistent
        # `ClusterConfigState.has_task`, inline: this is called several times for each event.
        return frozenset(
            [
                id
                for id in self.membership.tasks
                if id.task < counts.get(id.connector, 0) and id.connector in known and id.connector not in inconsistent
            ]
        )

    def is_stopping(self, connector: str | None = None) -> bool:
        """Return True while the connector or a task of it is being stopped here; without a name, while any is."""
        stopping = {id.connector for id, run in self.tasks.items() if run.stopping}
        stopping |= {name for name, run in self.connectors.items() if run.phase is RunPhase.STOPPING}
        return bool(stopping) if connector is None else connector in stopping

    def type_of(self, connector: str) -> str | None:
        """Return source, sink, unknown, or None if not found out yet."""
        config = self.config.connector_config(connector)
        return None if config is None else self.types.get(config.get(CONNECTOR_CLASS) or "")

    def awaits_fencing(self, connector: str) -> bool:
        """Return True if the connector's tasks may not start yet for want of a task count record (invariant 6)."""
        return self.exactly_once and self.lacks_task_count(connector)

    def lacks_task_count(self, connector: str) -> bool:
        """Return True if no task count record follows the latest task configs of a connector that may be a source."""
        return connector in self.config.pending_fencing and self.type_of(connector) in ("source", None)

    def assignment_knows(self, connector: str) -> bool:
        """Return True if the assignment was made with the connector's newest task configs."""
        membership, generation = self.membership, self.config.task_config_offsets.get(connector)
        if membership is None or generation is None or not self.in_step:
            return False
        # Greater, not equal: the leader's position is the next record that it reads, ``generation`` that of the commit.
        return membership.config_offset > generation

    def outdated_tasks(self, config: ClusterConfigState) -> frozenset[ConnectorTaskId]:
        """Return the source tasks here that a round of fencing by ``config`` shuts out: their configs are outdated."""
        if not self.exactly_once or not config.pending_fencing:
            return frozenset()
        return frozenset(
            id
            for id, run in self.tasks.items()
            if id.connector in config.pending_fencing
            and run.generation != config.task_config_offsets.get(id.connector)
            and self.type_of(id.connector) in ("source", None)
        )

    def waits_for_fencing(self) -> tuple[str, ...]:
        """Return the connectors, sorted, with tasks here that wait for nothing but a round of zombie fencing.

        Former tasks that still run here are waited for first, so that they can commit their records.
        """
        if not self.config.pending_fencing:
            # As nearly always: with a thousand tasks the rest takes a millisecond.
            return ()
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
        """Return the reason why a task that was started here may not continue, None if it may.

        ``config`` is the newest state of the config topic.
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
