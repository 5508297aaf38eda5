# SPDX-License-Identifier: Apache-2.0
"""Balances work over members: placement of free work, and the surplus of overloaded members. Pure functions.

Connectors and tasks are balanced separately, for their costs differ; and the tasks of one connector are spread over as
many members as possible (KAFKA-10413).
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from heapq import heapify, heapreplace
from operator import itemgetter

from headrace.distributed.group.assignors import Share
from headrace.model.ids import ConnectorTaskId


def place_work(shares: Mapping[str, Share], work: Share) -> dict[str, Share]:
    """Return the members' shares after each piece of ``work`` has gone to the least loaded member at that moment."""
    if not work:
        return dict(shares)
    loads = {member: _Load(shares[member]) for member in sorted(shares)}
    _place_connectors(list(loads.values()), sorted(work.connectors))
    _place_tasks(list(loads.values()), sorted(work.tasks))
    return {member: load.share() for member, load in loads.items()}


def surplus_work(shares: Mapping[str, Share], work: Share) -> dict[str, Share]:
    """Return the least work that each member has to give up so that all of ``work`` can be spread evenly."""
    connectors = _quotas({member: len(share.connectors) for member, share in shares.items()}, len(work.connectors))
    tasks = _quotas({member: len(share.tasks) for member, share in shares.items()}, len(work.tasks))
    return {
        member: Share(
            _last(share.connectors, len(share.connectors) - connectors[member]),
            _most_crowded(share.tasks, len(share.tasks) - tasks[member]),
        )
        for member, share in shares.items()
    }


def _quotas(loads: Mapping[str, int], total: int) -> dict[str, int]:
    """Return each member's quota; the most loaded have one more where the total cannot be split evenly."""
    least, extra = divmod(total, len(loads))
    ranked = sorted(loads, key=lambda member: (-loads[member], member))
    return {member: least + (rank < extra) for rank, member in enumerate(ranked)}


def _last(connectors: Collection[str], count: int) -> frozenset[str]:
    return frozenset(sorted(connectors)[-count:]) if count > 0 else frozenset()


def _most_crowded(tasks: Iterable[ConnectorTaskId], count: int) -> frozenset[ConnectorTaskId]:
    """Return ``count`` tasks, one after the other from the connector that has most of them here."""
    if count <= 0:
        return frozenset()
    by_connector: defaultdict[str, list[ConnectorTaskId]] = defaultdict(list)
    for task in sorted(tasks):
        by_connector[task.connector].append(task)
    chosen = set()
    for _ in range(count):
        fullest = max(by_connector, key=lambda name: (len(by_connector[name]), name))
        chosen.add(by_connector[fullest].pop())
    return frozenset(chosen)


def _place_connectors(loads: Sequence[_Load], connectors: Iterable[str]) -> None:
    """Give each connector to the member with the fewest connectors, of these with the fewest tasks."""
    heap = [(load.connectors, load.tasks, place) for place, load in enumerate(loads)]
    heapify(heap)
    for connector in connectors:
        count, tasks, place = heap[0]
        loads[place].add_connector(connector)
        heapreplace(heap, (count + 1, tasks, place))


def _place_tasks(loads: Iterable[_Load], tasks: Iterable[ConnectorTaskId]) -> None:
    """Give each task to a member with the fewest tasks: that with the fewest of its connector, then of connectors."""
    by_count: defaultdict[int, list[tuple[int, _Load]]] = defaultdict(list)
    for rank, load in enumerate(sorted(loads, key=lambda load: load.connectors)):
        by_count[load.tasks].append((rank, load))
    count = min(by_count)
    for task in tasks:
        while not by_count[count]:
            count += 1
        candidates = by_count[count]
        without = (place for place, (_, load) in enumerate(candidates) if not load.of_connector[task.connector])
        chosen = next(without, None)
        if chosen is None:
            chosen = min(range(len(candidates)), key=lambda place: candidates[place][1].of_connector[task.connector])
        ranked = candidates.pop(chosen)
        ranked[1].add_task(task)
        insort(by_count[count + 1], ranked, key=itemgetter(0))


class _Load:
    """The work of one member so far. What most members of a large group need not know is counted when asked for."""

    def __init__(self, share: Share) -> None:
        self._share = share
        self._connectors: set[str] = set()
        self._tasks: set[ConnectorTaskId] = set()

    @property
    def connectors(self) -> int:
        return len(self._share.connectors) + len(self._connectors)

    @property
    def tasks(self) -> int:
        return len(self._share.tasks) + len(self._tasks)

    @cached_property
    def of_connector(self) -> Counter[str]:
        """Number of tasks by connector."""
        return Counter(task.connector for task in self._share.tasks)

    def add_connector(self, connector: str) -> None:
        self._connectors.add(connector)

    def add_task(self, task: ConnectorTaskId) -> None:
        self.of_connector[task.connector] += 1
        self._tasks.add(task)

    def share(self) -> Share:
        if not self._connectors and not self._tasks:
            return self._share
        return self._share | Share(frozenset(self._connectors), frozenset(self._tasks))
