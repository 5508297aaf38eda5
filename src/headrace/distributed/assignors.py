# SPDX-License-Identifier: Apache-2.0
"""Who runs what: pure functions from the members and what they own to what each is given and has to give up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Change:
    """What one member is given in addition to what it owns, and what it has to give up."""

    given: Share = field(default_factory=Share)
    revoked: Share = field(default_factory=Share)


def all_work(config: ClusterConfigState) -> Share:
    """Every connector and task that the cluster is to run."""
    tasks = (id for name in config.connectors() for id in config.tasks(name))
    return Share(frozenset(config.connectors()), frozenset(tasks))


def assign(owned: Mapping[str, Share], config: ClusterConfigState) -> dict[str, Change]:
    """Lets members keep what they own, and gives the rest to the least loaded.

    ``owned`` has every member of the group. Only what was deleted is revoked, and what two members claim to own, from
    all but one of them. The tasks of one connector go to as many members as possible.
    """
    unassigned = all_work(config)
    kept: dict[str, Share] = {}
    for member in sorted(owned):
        kept[member] = owned[member] & unassigned
        unassigned = unassigned - kept[member]
    loads = {member: _Load(share) for member, share in kept.items()}
    for connector in sorted(unassigned.connectors):
        min(loads.values(), key=_Load.weight_for_connector).add_connector(connector)
    for task in sorted(unassigned.tasks):
        min(loads.values(), key=lambda load, task=task: load.weight_for_task(task)).add_task(task)  # type: ignore[misc]
    return {
        member: Change(given=loads[member].share() - kept[member], revoked=owned[member] - kept[member])
        for member in owned
    }


class _Load:
    """What one member has so far. Connectors and tasks are balanced apart: they weigh differently."""

    def __init__(self, share: Share) -> None:
        self._connectors = set(share.connectors)
        self._tasks = set(share.tasks)
        self._per_connector: Counter[str] = Counter(task.connector for task in share.tasks)

    def weight_for_connector(self) -> tuple[int, int]:
        return len(self._connectors), len(self._tasks)

    def weight_for_task(self, task: ConnectorTaskId) -> tuple[int, int]:
        return len(self._tasks), self._per_connector[task.connector]

    def add_connector(self, connector: str) -> None:
        self._connectors.add(connector)

    def add_task(self, task: ConnectorTaskId) -> None:
        self._tasks.add(task)
        self._per_connector[task.connector] += 1

    def share(self) -> Share:
        return Share(frozenset(self._connectors), frozenset(self._tasks))


def share_of(connectors: Iterable[str], tasks: Iterable[ConnectorTaskId]) -> Share:
    return Share(frozenset(connectors), frozenset(tasks))
