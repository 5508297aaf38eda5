# SPDX-License-Identifier: Apache-2.0
"""A group of workers that do what the assignor says, sooner or later, without processes and threads."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.distributed.group.assignors import NOTHING, LeaderMemory, Member, Round, Share, union
from headrace.distributed.group.incremental_cooperative_assignor import assign_incrementally
from headrace.model.ids import ConnectorTaskId


def work_of(tasks: Mapping[str, int]) -> Share:
    """Return the work of connectors with so many tasks each."""
    ids = frozenset(ConnectorTaskId(name, n) for name, count in tasks.items() for n in range(count))
    return Share(frozenset(tasks), ids)


@dataclass
class Worker:
    """What runs on one worker: what it owns, and what it has been asked to stop but has not stopped yet."""

    url: str
    owned: Share = NOTHING
    leaving: Share = NOTHING


@dataclass
class Group:
    """Workers, their leader's memory, the clock, and what may not be given to others yet, by its owner's URL."""

    max_delay: float
    work: Share = NOTHING
    workers: dict[str, Worker] = field(default_factory=dict)
    memory: LeaderMemory = field(default_factory=LeaderMemory)
    leader: str | None = None
    now: float = 0.0
    due: float | None = None
    waiting: list[tuple[str, Share, float]] = field(default_factory=list)
    revoked: int = 0
    joined: int = 0
    cpu_seconds: float = 0.0
    """Of the last assignment."""

    def join(self, url: str) -> str:
        self.joined += 1
        id = f"{url}#{self.joined}"
        self.workers[id] = Worker(url)
        return id

    def kill(self, id: str) -> None:
        worker = self.workers.pop(id)
        known = self.memory.members.get(id, Member(worker.url)).owned
        if id == self.leader:
            self.leader, self.memory, self.waiting = None, LeaderMemory(), []
        else:
            self.waiting.append((worker.url, worker.owned & known, self.now + self.max_delay))

    def round(self, deaf: frozenset[str] = frozenset()) -> Round:
        """One rebalance; ``deaf`` members do not hear of its outcome."""
        if self.leader is None:
            self.leader = min(self.workers)
        members = {id: Member(worker.url, worker.owned, worker.leaving) for id, worker in self.workers.items()}
        began = time.thread_time()
        outcome = assign_incrementally(members, self.work, self.memory, self.now, self.max_delay)
        self.cpu_seconds = time.thread_time() - began
        self.revoked = sum(len((m.owned & self.work) & outcome.changes[id].revoked) for id, m in members.items())
        self.check_delay(outcome)
        for id in members.keys() - deaf:
            worker, change = self.workers[id], outcome.changes[id]
            worker.leaving = (worker.leaving | (worker.owned & change.revoked)) - change.given
            worker.owned = (worker.owned - change.revoked) | change.given
        if self.leader not in deaf:
            self.memory = outcome.memory
        self.due = self.now + outcome.delay if outcome.delay else None
        return outcome

    def check_delay(self, outcome: Round) -> None:
        """No member waits for one that has returned, nor for what was removed: made again, it is new work."""
        here = {worker.url for worker in self.workers.values()}
        self.waiting = [(url, share & self.work, until) for url, share, until in self.waiting if url not in here]
        for url, share, until in self.waiting:
            early = union(change.given for change in outcome.changes.values()) & share
            assert not early or until <= self.now, (url, early, until)

    def stop_what_leaves(self, id: str) -> None:
        self.workers[id].leaving = NOTHING

    def reconcile(self) -> None:
        """Lets everything happen that is still to happen, in a bounded number of rounds."""
        self.round()
        for _ in range(2 * len(self.workers) + len(self.memory.losses) + 6):
            leaving = [id for id, worker in self.workers.items() if worker.leaving]
            if leaving:
                self.stop_what_leaves(leaving[0])
            elif self.due is not None:
                self.now = max(self.now, self.due)
            else:
                return
            self.round()
        raise AssertionError("no end of rounds")

    def check_nothing_twice(self) -> None:
        running = [part for worker in self.workers.values() for part in (worker.owned, worker.leaving)]
        assert len(union(running)) == sum(map(len, running)), [(id, *parts) for id, parts in self._twice()]

    def _twice(self) -> list[tuple[str, tuple[Share, str]]]:
        pairs = [(id, other) for id in self.workers for other in self.workers if id < other]
        shares = {id: worker.owned | worker.leaving for id, worker in self.workers.items()}
        return [(id, (shares[id] & shares[other], other)) for id, other in pairs if shares[id] & shares[other]]

    def check_settled(self) -> None:
        shares = [worker.owned for worker in self.workers.values()]
        assert union(shares) == self.work
        for sizes in ([len(s.connectors) for s in shares], [len(s.tasks) for s in shares]):
            assert max(sizes) - min(sizes) <= 1, sizes
        again = self.round()
        assert not any(change.given or change.revoked for change in again.changes.values()), "moved for no reason"
