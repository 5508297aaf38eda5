# SPDX-License-Identifier: Apache-2.0
"""Balances work over members: placement of free work, and the surplus of overloaded members. Pure functions.

Connectors and tasks are balanced separately, for their costs differ; and the tasks of one connector are spread over as
many members as possible (KAFKA-10413).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from headrace.distributed.group.assignors import Share
from headrace.model.ids import ConnectorTaskId


def place_work(shares: Mapping[str, Share], work: Share) -> dict[str, Share]:
    """Return the members' shares after each piece of ``work`` has gone to the least loaded member at that moment."""
    loads = {member: _Load(shares[member]) for member in sorted(shares)}
    for connector in sorted(work.connectors):
        min(loads.values(), key=_Load.weight_for_connector).add_connector(connector)
    for task in sorted(work.tasks):
        min(loads.values(), key=lambda load, task=task: load.weight_for_task(task)).add_task(task)  # type: ignore[misc]
    return {member: load.share() for member, load in loads.items()}


def surplus_work(shares: Mapping[str, Share], work: Share) -> dict[str, Share]:
    """Return the least work that each member has to give up so that all of ``work`` can be spread evenly."""
    connectors = _quotas({member: len(share.connectors) for member, share in shares.items()}, len(work.connectors))
    tasks = _quotas({member: len(share.tasks) for member, share in shares.items()}, len(work.tasks))
    return {
        member: Share(
            frozenset(sorted(share.connectors)[connectors[member] :]),
            _most_crowded(share.tasks, len(share.tasks) - tasks[member]),
        )
        for member, share in shares.items()
    }


def _quotas(loads: Mapping[str, int], total: int) -> dict[str, int]:
    """Return each member's quota; the most loaded have one more where the total cannot be split evenly."""
    least, extra = divmod(total, len(loads))
    ranked = sorted(loads, key=lambda member: (-loads[member], member))
    return {member: least + (rank < extra) for rank, member in enumerate(ranked)}


def _most_crowded(tasks: Iterable[ConnectorTaskId], count: int) -> frozenset[ConnectorTaskId]:
    """Return ``count`` tasks, one after the other from the connector that has most of them here."""
    by_connector: defaultdict[str, list[ConnectorTaskId]] = defaultdict(list)
    for task in sorted(tasks):
        by_connector[task.connector].append(task)
    chosen = set()
    for _ in range(count):
        fullest = max(by_connector, key=lambda name: (len(by_connector[name]), name))
        chosen.add(by_connector[fullest].pop())
    return frozenset(chosen)


class _Load:
    """The work of one member so far."""

    def __init__(self, share: Share) -> None:
        self._connectors = set(share.connectors)
        self._tasks = set(share.tasks)
        self._per_connector: Counter[str] = Counter(task.connector for task in share.tasks)

    def weight_for_connector(self) -> tuple[int, int]:
        return len(self._connectors), len(self._tasks)

    def weight_for_task(self, task: ConnectorTaskId) -> tuple[int, int, int]:
        return len(self._tasks), self._per_connector[task.connector], len(self._connectors)

    def add_connector(self, connector: str) -> None:
        self._connectors.add(connector)

    def add_task(self, task: ConnectorTaskId) -> None:
        self._tasks.add(task)
        self._per_connector[task.connector] += 1

    def share(self) -> Share:
        return Share(frozenset(self._connectors), frozenset(self._tasks))
