# SPDX-License-Identifier: Apache-2.0
"""Incremental cooperative assignment under random histories, with members that do what they are told, sooner or later.

What has to hold at every moment: no connector or task is with two members at once, and lost work waits for its owner.
Once nothing happens any more: few rounds later everything is owned, evenly, and stays where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.distributed.group.assignors import NOTHING, LeaderMemory, Member, Round, Share, union
from headrace.distributed.group.incremental_cooperative_assignor import assign_incrementally
from headrace.model.ids import ConnectorTaskId
from tests.tiers import examples

QUICK = settings(
    max_examples=examples(60), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
CONNECTORS = st.sampled_from("abcdef")
URLS = st.sampled_from(["u1", "u2", "u3", "u4"])


def work_of(tasks: Mapping[str, int]) -> Share:
    ids = frozenset(ConnectorTaskId(name, n) for name, count in tasks.items() for n in range(count))
    return Share(frozenset(tasks), ids)


@dataclass
class Worker:
    """What runs on one worker: what it owns, and what it has been told to stop but has not stopped yet."""

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
        outcome = assign_incrementally(members, self.work, self.memory, self.now, self.max_delay)
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
        """Nobody waits for who has returned, nor for what was removed: made again, it is new work."""
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
        for id, worker in self.workers.items():
            for other_id, other in self.workers.items():
                if id != other_id:
                    assert not worker.owned & (other.owned | other.leaving), (id, other_id)

    def check_settled(self) -> None:
        shares = [worker.owned for worker in self.workers.values()]
        assert union(shares) == self.work
        for sizes in ([len(s.connectors) for s in shares], [len(s.tasks) for s in shares]):
            assert max(sizes) - min(sizes) <= 1, sizes
        again = self.round()
        assert not any(change.given or change.revoked for change in again.changes.values()), "moved for no reason"


class Histories(RuleBasedStateMachine):
    """Workers come, go and return, work is made and removed, and rounds fail to reach some of them."""

    @initialize(delay=st.sampled_from([0.0, 300.0]), url=URLS)
    def begin(self, delay: float, url: str) -> None:
        self.group = Group(delay)
        self.tasks: dict[str, int] = {}
        self.group.join(url)
        self.group.round()

    @rule(url=URLS)
    def a_worker_joins(self, url: str) -> None:
        if url not in {worker.url for worker in self.group.workers.values()}:
            self.group.join(url)
            self.group.round()

    @precondition(lambda self: len(self.group.workers) > 1)
    @rule(data=st.data())
    def a_worker_dies(self, data: st.DataObject) -> None:
        self.group.kill(data.draw(st.sampled_from(sorted(self.group.workers))))
        self.group.round()

    @rule(name=CONNECTORS, count=st.integers(0, 6))
    def a_connector_gets_tasks(self, name: str, count: int) -> None:
        self.tasks[name] = count
        self.group.work = work_of(self.tasks)
        self.group.round()

    @rule(name=CONNECTORS)
    def a_connector_is_removed(self, name: str) -> None:
        self.tasks.pop(name, None)
        self.group.work = work_of(self.tasks)
        self.group.round()

    @precondition(lambda self: any(worker.leaving for worker in self.group.workers.values()))
    @rule(data=st.data())
    def a_worker_has_stopped_what_was_revoked(self, data: st.DataObject) -> None:
        leaving = sorted(id for id, worker in self.group.workers.items() if worker.leaving)
        self.group.stop_what_leaves(data.draw(st.sampled_from(leaving)))
        self.group.round()

    @rule(data=st.data())
    def a_round_does_not_reach_everybody(self, data: st.DataObject) -> None:
        self.group.round(data.draw(st.frozensets(st.sampled_from(sorted(self.group.workers)))))
        self.group.check_nothing_twice()
        self.group.round()

    @rule(seconds=st.floats(0.01, 400))
    def time_goes_by(self, seconds: float) -> None:
        self.group.now += seconds
        if self.group.due is not None and self.group.due <= self.group.now:
            self.group.round()

    @rule()
    def all_settles(self) -> None:
        self.group.reconcile()
        self.group.check_settled()

    @invariant()
    def nothing_is_with_two(self) -> None:
        if hasattr(self, "group"):
            self.group.check_nothing_twice()

    def teardown(self) -> None:
        if hasattr(self, "group"):
            self.group.reconcile()
            self.group.check_settled()


TestHistories = Histories.TestCase
TestHistories.settings = QUICK


def settled_group(tasks: Mapping[str, int], urls: int, delay: float = 300.0) -> Group:
    group = Group(delay, work_of(tasks))
    for number in range(urls):
        group.join(f"u{number}")
    group.reconcile()
    return group


TASKS = st.dictionaries(CONNECTORS, st.integers(0, 7), min_size=1)


@QUICK
@given(TASKS, st.integers(1, 4))
def test_a_join_moves_no_more_than_the_newcomer_gets(tasks: dict[str, int], workers: int) -> None:
    group = settled_group(tasks, workers)
    before = {id: worker.owned for id, worker in group.workers.items()}
    newcomer = group.join("new")
    group.round()
    connectors, ids = len(tasks), sum(tasks.values())
    assert group.revoked == connectors // (workers + 1) + ids // (workers + 1)
    group.reconcile()
    assert all(not group.workers[id].owned - share for id, share in before.items()), "moved between old workers"
    assert len(group.workers[newcomer].owned) == connectors // (workers + 1) + ids // (workers + 1)


@QUICK
@given(TASKS, st.integers(2, 4), st.data())
def test_who_returns_within_the_delay_has_its_work_back(
    tasks: dict[str, int], workers: int, data: st.DataObject
) -> None:
    group = settled_group(tasks, workers)
    before = {worker.url: worker.owned for worker in group.workers.values()}
    gone = data.draw(st.sampled_from(sorted(group.workers.keys() - {group.leader})))
    url = group.workers[gone].url
    group.kill(gone)
    outcome = group.round()
    assert not any(change.given or change.revoked for change in outcome.changes.values())
    assert outcome.delay == (300.0 if before[url] else 0.0)
    group.now += data.draw(st.floats(0, 299))
    group.join(url)
    assert group.round().delay == 0
    assert {worker.url: worker.owned for worker in group.workers.values()} == before


@QUICK
@given(TASKS, st.integers(2, 4), st.booleans())
def test_lost_work_goes_to_others_in_the_round_that_ends_the_delay(
    tasks: dict[str, int], workers: int, none: bool
) -> None:
    group = settled_group(tasks, workers, delay=0.0 if none else 300.0)
    group.kill(max(group.workers.keys() - {group.leader}))
    outcome = group.round()
    if not none and outcome.delay:
        group.now += outcome.delay
        group.round()
    group.check_settled()
