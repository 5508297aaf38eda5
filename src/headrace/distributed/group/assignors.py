# SPDX-License-Identifier: Apache-2.0
"""What every assignor speaks of: shares of the cluster's work, members that claim some, and the outcome of a round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

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
    """A worker in the group: its REST URL, by which it is known again after a restart, and its work.

    ``leaving`` was revoked from it but may still run there: nobody else may have it yet.
    """

    url: str
    owned: Share = NOTHING
    leaving: Share = NOTHING


@dataclass(frozen=True, slots=True)
class Change:
    """What one member is given in addition to what it owns, and what it has to give up."""

    given: Share = NOTHING
    revoked: Share = NOTHING


@dataclass(frozen=True, slots=True)
class Loss:
    """Work of a worker that has gone. Until ``until``, a time of the leader's clock, it waits for its return."""

    url: str
    share: Share
    until: float


@dataclass(frozen=True, slots=True)
class LeaderMemory:
    """What a leader knows from the round before, for as long as it leads without a break."""

    members: Mapping[str, Member] = field(default_factory=dict)
    """The members of that round by their ids, with what they were to own from then on."""
    losses: tuple[Loss, ...] = ()
    revoking_rounds: int = 0
    """How many rounds in a row have taken work from members for the sake of balance."""
    revoke_at: float | None = None
    """When the next such round may be, if one is due but held back."""


@dataclass(frozen=True, slots=True)
class Round:
    """The outcome: what changes for each member, and in how many seconds all of them are to join again (0: never)."""

    changes: Mapping[str, Change]
    memory: LeaderMemory
    delay: float = 0.0


def all_work(config: ClusterConfigState) -> Share:
    """Every connector and task that the cluster is to run."""
    tasks = (id for name in config.connectors() for id in config.tasks(name))
    return Share(frozenset(config.connectors()), frozenset(tasks))


def union(shares: Iterable[Share]) -> Share:
    return reduce(or_, shares, NOTHING)


def share_of(connectors: Iterable[str], tasks: Iterable[ConnectorTaskId]) -> Share:
    return Share(frozenset(connectors), frozenset(tasks))


def with_work(base: Assignment, work: Share, revoked: Share) -> Assignment:
    """``base`` with other work and revocations, in order."""
    return replace(
        base,
        connectors=tuple(sorted(work.connectors)),
        tasks=tuple(sorted(work.tasks)),
        revoked_connectors=tuple(sorted(revoked.connectors)),
        revoked_tasks=tuple(sorted(revoked.tasks)),
    )
