# SPDX-License-Identifier: Apache-2.0
"""Incremental cooperative assignment under random histories, with members that do what they are asked, sooner or later.

What has to hold at every moment: no connector or task is with two members at once, and lost work waits for its owner.
Once nothing happens any more: few rounds later everything is owned, evenly, and stays where it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.tiers import examples
from tests.unit.distributed.simulated_group import Group, work_of

QUICK = settings(
    max_examples=examples(60), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
CONNECTORS = st.sampled_from("abcdef")
URLS = st.sampled_from(["u1", "u2", "u3", "u4"])


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
