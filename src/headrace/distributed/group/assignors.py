# SPDX-License-Identifier: Apache-2.0
"""The values that assignors share: shares of the cluster's work, members that claim some, the outcome of a round.

The assignment of the eager protocol is here too: it is a round robin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import cycle

from headrace.model.assignment import Assignment
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId


@dataclass(frozen=True, slots=True)
class Share:
    """Some connectors and tasks."""

    connectors: frozenset[str] = frozenset()
    tasks: frozenset[ConnectorTaskId] = frozenset()

    def __or__(self, other: Share) -> Share:
        return Share(self.connectors | other.connectors, self.tasks | other.tasks)

    def __sub__(self, other: Share) -> Share:
        return Share(self.connectors - other.connectors, self.tasks - other.tasks)

    def __and__(self, other: Share) -> Share:
        return Share(self.connectors & other.connectors, self.tasks & other.tasks)

    def __len__(self) -> int:
        return len(self.connectors) + len(self.tasks)


NOTHING = Share()


@dataclass(frozen=True, slots=True)
class Member:
    """A worker in the group: its REST URL, which identifies it after a restart too, and its work.

    ``leaving`` was revoked from it but may still run there, so that no other member may have it yet.
    """

    url: str
    owned: Share = NOTHING
    leaving: Share = NOTHING


@dataclass(frozen=True, slots=True)
class Change:
    """The work that one member is given in addition to its own, and that it has to give up."""

    given: Share = NOTHING
    revoked: Share = NOTHING


@dataclass(frozen=True, slots=True)
class Loss:
    """Work of a worker that has gone. Until ``until``, by the leader's clock, it is kept for that worker's return."""

    url: str
    share: Share
    until: float


@dataclass(frozen=True, slots=True)
class LeaderMemory:
    """A leader's knowledge from the round before, for as long as it leads without a break."""

    members: Mapping[str, Member] = field(default_factory=dict)
    """The members of that round by their ids, with the work that they were to own from then on."""
    losses: tuple[Loss, ...] = ()
    revoking_rounds: int = 0
    """Number of consecutive rounds that have revoked work for the sake of balance."""
    revoke_at: float | None = None
    """Earliest time of the next such round, if one is due but held back."""


@dataclass(frozen=True, slots=True)
class Round:
    """The outcome of a round: each member's change, and the seconds until all are to join again (0: never)."""

    changes: Mapping[str, Change]
    memory: LeaderMemory
    delay: float = 0.0


def all_work(config: ClusterConfigState) -> Share:
    """Return every connector and task that the cluster is to run."""
    known, inconsistent = config.connector_configs, config.inconsistent
    # `ClusterConfigState.tasks`, inline: this is called for each round.
    tasks = frozenset(
        ConnectorTaskId(name, number)
        for name, count in config.task_counts.items()
        if name in known and name not in inconsistent
        for number in range(count)
    )
    return Share(frozenset(known), tasks)


def union(shares: Iterable[Share]) -> Share:
    """Return all work that is in any of the shares."""
    each = list(shares)
    connectors = frozenset[str]().union(*(share.connectors for share in each))
    return Share(connectors, frozenset[ConnectorTaskId]().union(*(share.tasks for share in each)))


def share_of(connectors: Iterable[str], tasks: Iterable[ConnectorTaskId]) -> Share:
    """Return a share of these connectors and tasks."""
    return Share(frozenset(connectors), frozenset(tasks))


def with_work(base: Assignment, work: Share, revoked: Share) -> Assignment:
    """Return ``base`` with other work and revocations, sorted."""
    return replace(
        base,
        connectors=tuple(sorted(work.connectors)),
        tasks=tuple(sorted(work.tasks)),
        revoked_connectors=tuple(sorted(revoked.connectors)),
        revoked_tasks=tuple(sorted(revoked.tasks)),
    )


def assign_eagerly(members: Mapping[str, Member], work: Share) -> Round:
    """Assign the connectors round-robin, then the tasks: all members have given up all work. Java: ``EagerAssignor``.

    All connectors come before all tasks, because with one task for each connector an even number of members would
    otherwise give half of them nothing but connectors.
    """
    connectors: dict[str, list[str]] = {member: [] for member in members}
    tasks: dict[str, list[ConnectorTaskId]] = {member: [] for member in members}
    turns = cycle(sorted(members))
    for connector in sorted(work.connectors):
        connectors[next(turns)].append(connector)
    for task in sorted(work.tasks):
        tasks[next(turns)].append(task)
    shares = {member: share_of(connectors[member], tasks[member]) for member in members}
    return Round(
        {member: Change(given=share) for member, share in shares.items()},
        LeaderMemory({member: replace(members[member], owned=share) for member, share in shares.items()}),
    )
