# SPDX-License-Identifier: Apache-2.0
"""Workers in a group, each with its real core, coordinator and bytes: who runs what while workers come and go.

In a transcript each line begins with the worker's name; a worker that comes back is another member of the same URL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.distributed.group.assignors import Share, all_work, share_of, union
from headrace.distributed.group.connect_protocol import ConnectProtocol
from headrace.distributed.group.group_leader import GroupLeader
from headrace.distributed.group.worker_coordinator import HerderView, OutdatedTasksWait, WorkerCoordinator
from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import PutConnector, PutTaskConfigs, RemoveConnector, WriteRequest
from headrace.herder.core.herder_state import RunPhase
from tests.tiers import examples

MakeStage = Callable[..., Any]
Golden = Callable[[Any], None]

PROTOCOLS = ("sessioned", "compatible", "default")
DELAY = 300.0


class Lines(list[str]):
    """The common transcript, as one worker writes it."""

    def __init__(self, all: list[str], name: str) -> None:
        super().__init__()
        self._all, self._name = all, name

    def append(self, line: str) -> None:
        self._all.append(f"{self._name} {line}")


class Worker:
    """A core on a stage and its coordinator; everything it wants of the group is the group's to do."""

    def __init__(self, group: Group, name: str, id: str, protocol: str) -> None:
        self.name, self.id = name, id
        self.inbox: list[events.HerderEvent] = []
        self.stage = group.make_stage(exactly_once=False)
        self.stage.topic, self.stage.lines = group.topic, Lines(group.lines, name)
        self.stage.hold(actions.ComputeTaskConfigs)
        at_once = self.stage._results
        self.stage._results = lambda action: [] if group.asked(self, action) else at_once(action)
        view = HerderView(lambda: self.stage.state.config, self.inbox.append, lambda: self.stage.state)
        leader, former = GroupLeader(DELAY, lambda: group.now), OutdatedTasksWait(5.0, lambda: group.now)
        offered = ConnectProtocol.offered(protocol)
        self.coordinator = WorkerCoordinator(f"http://{name}/", offered, leader, former, view)

    def share(self) -> Share:
        return share_of(self.stage.state.connectors, self.stage.state.tasks)


class Group:
    """The group coordinator, the config topic and the clock of some workers."""

    def __init__(self, make_stage: MakeStage) -> None:
        self.make_stage = make_stage
        self.topic = make_stage().topic
        self.lines: list[str] = []
        self.workers: dict[str, Worker] = {}
        self.lagging: set[str] = set()
        """Workers whose herders hear of nothing for the moment, while their memberships go on."""
        self.blind: set[str] = set()
        """Workers that cannot read the config topic for the moment."""
        self.away: dict[str, float] = {}
        """Workers that have stepped out, and when they may come back."""
        self.now = 0.0
        self._unread: list[tuple[Worker, actions.CatchUp]] = []
        self._updates: list[events.ConfigUpdated] = []
        self._timers: list[tuple[float, Worker, events.HerderEvent]] = []
        self._wanted = False
        self._generation = 0
        self._joined = 0

    # ---- what a test does

    def say(self, comment: str) -> None:
        self.lines.append(f"# {comment}")

    def join(self, name: str, protocol: str = "sessioned") -> Worker:
        self._joined += 1
        worker = Worker(self, name, f"{name}-{self._joined}", protocol)
        self.workers[name] = worker
        worker.stage.happen(events.StoresStarted(self.topic.state))
        self.reconcile()
        return worker

    def leave(self, name: str) -> None:
        del self.workers[name]
        self.blind.discard(name)
        self.away.pop(name, None)
        self._wanted = True
        self.reconcile()

    def create(self, name: str, tasks: int) -> None:
        self.write(PutConnector(0, name, {"connector.class": "Source", "name": name}, None, allow_replace=True))
        self.write(PutTaskConfigs(name, [{"part": str(n)} for n in range(tasks)]))

    def write(self, write: WriteRequest) -> None:
        self._updates.append(self.topic.write(write))
        self.reconcile()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self._timers if timer[0] <= self.now]
        self._timers = [timer for timer in self._timers if timer[0] > self.now]
        for _, worker, event in due:
            if worker in self.workers.values():
                worker.stage.happen(event)
        self.reconcile()

    def lose_session(self, name: str) -> None:
        self._lose(self.workers[name])
        self.reconcile()

    def _lose(self, worker: Worker) -> None:
        self._joined += 1
        worker.id = f"{worker.name}-{self._joined}"
        worker.coordinator.on_lost("test")
        self._wanted = True

    def see(self, name: str) -> None:
        """The worker can read the config topic again, and has."""
        self.blind.discard(name)
        unread, self._unread = self._unread, []
        for worker, read in unread:
            if worker.name in self.blind:
                self._unread.append((worker, read))
            elif worker in self.workers.values():
                worker.stage.happen(events.ConfigUpdated(self.topic.state))
                worker.stage.happen(events.CaughtUp(read.rejoin))
        self.reconcile()

    # ---- the world

    def asked(self, worker: Worker, action: actions.HerderAction) -> bool:
        """Whether ``action`` is the group's to do."""
        match action:
            case actions.Join() | actions.Rejoin():
                self._wanted = True
            case actions.Later(delay=delay, event=event):
                self._timers.append((self.now + delay, worker, event))
            case actions.CatchUp() if worker.name in self.blind:
                self._unread.append((worker, action))
            case actions.StepOut(pause=pause):
                assert not worker.share(), "others may be given what still runs"
                self.away[worker.name] = self.now + pause
                self._lose(worker)
            case _:
                return False
        return True

    def reconcile(self) -> None:
        """All that follows by itself, but for what is held and what lagging workers do not hear."""
        for _ in range(60):
            self._pump()
            self._come_back()
            if not self._wanted or not all([w.coordinator.ready_to_join() for w in self._members()]):
                if not any(worker.inbox for worker in self._attentive()):
                    return
            else:
                self._wanted = False
                self._rebalance()
        raise AssertionError("the group does not come to rest")

    def _attentive(self) -> list[Worker]:
        return [worker for name, worker in self.workers.items() if name not in self.lagging]

    def _members(self) -> list[Worker]:
        return [worker for name, worker in self.workers.items() if name not in self.away]

    def _come_back(self) -> None:
        for name, until in list(self.away.items()):
            if until <= self.now and self.workers[name].coordinator.ready_to_join():
                del self.away[name]
                self._wanted = True

    def _pump(self) -> None:
        for worker in self._attentive():
            for update in self._updates if worker.name not in self.blind else ():
                if update.config.offset > worker.stage.state.config.offset:
                    worker.stage.happen(update)
            while worker.inbox:
                worker.stage.happen(worker.inbox.pop(0))
            self.check_nothing_twice()

    def _rebalance(self) -> None:
        self._generation += 1
        members = self._members()
        if not members:
            return
        offered = {worker.id: dict(worker.coordinator.offered_protocols()) for worker in members}
        protocol = next(name for name in PROTOCOLS if all(name in of_member for of_member in offered.values()))
        self.lines.append(f"== generation {self._generation}, {protocol}: {', '.join(offered)}")
        leader = members[0]
        metadata = {id: of_member[protocol] for id, of_member in offered.items()}
        assigned = leader.coordinator.assign(leader.id, protocol, metadata)
        for worker in members:
            worker.coordinator.on_assigned(self._generation, worker.id, protocol, assigned[worker.id])

    # ---- what has to hold

    def check_nothing_twice(self) -> None:
        running = [worker.share() for worker in self.workers.values()]
        assert sum(len(share) for share in running) == len(union(running)), running

    def check_all_runs_evenly(self) -> None:
        running = [worker.share() for worker in self.workers.values()]
        assert union(running) == all_work(self.topic.state)
        for sizes in ([len(share.connectors) for share in running], [len(share.tasks) for share in running]):
            assert max(sizes) - min(sizes) <= 1, sizes


@pytest.fixture
def group(stage: MakeStage) -> Group:
    return Group(stage)


def test_a_worker_joins(group: Group, golden: Golden) -> None:
    a = group.join("a")
    group.create("c", tasks=2)
    group.create("d", tasks=2)
    group.lines.clear()
    group.say("what is to move goes on to run, and to be claimed, until it has stopped")
    a.stage.hold(actions.StopTasks)
    b = group.join("b")
    assert not b.share()
    group.say("a third one comes before that: nothing is given to it either")
    group.join("e")
    assert not b.share().tasks
    group.say("it has stopped")
    a.stage.release(actions.StopTasks)
    a.stage.happen(events.TasksStopped(tuple(sorted(a.stage.state.tasks.keys() - a.stage.state.membership.tasks))))
    group.reconcile()
    group.pass_time(2.0)
    group.check_all_runs_evenly()
    golden(group)


def test_a_worker_leaves_for_good(group: Group, golden: Golden) -> None:
    for name in "ab":
        group.join(name)
    group.create("c", tasks=2)
    group.lines.clear()
    group.leave("b")
    group.say("what is new does not wait, what was lost does")
    group.create("d", tasks=1)
    group.pass_time(DELAY - 1)
    group.say("no member has come back")
    group.pass_time(1)
    group.check_all_runs_evenly()
    golden(group)


def test_a_worker_returns_within_the_delay(group: Group, golden: Golden) -> None:
    for name in "abc":
        group.join(name)
    group.create("c", tasks=4)
    before = group.workers["b"].share()
    group.lines.clear()
    group.leave("b")
    group.pass_time(20)
    group.join("b")
    assert group.workers["b"].share() == before and before
    group.say("the end of the delay means nothing any more")
    group.pass_time(DELAY)
    group.check_all_runs_evenly()
    golden(group)


def test_the_leader_changes(group: Group, golden: Golden) -> None:
    for name in "abc":
        group.join(name)
    group.create("c", tasks=3)
    group.lines.clear()
    group.say("the new leader does not know what the old one had: what no worker claims is work like any other")
    group.leave("a")
    assert group.workers["b"].stage.state.is_leader
    group.check_all_runs_evenly()
    golden(group)


def test_a_session_is_lost_while_a_task_is_slow_to_stop(group: Group, golden: Golden) -> None:
    for name in "ab":
        group.join(name)
    group.create("c", tasks=2)
    group.lines.clear()
    b = group.workers["b"]
    b.stage.hold(actions.StopTasks)
    group.lose_session("b")
    group.say("it has stopped")
    b.stage.release(actions.StopTasks)
    b.stage.happen(events.TasksStopped(tuple(b.stage.state.tasks)))
    group.reconcile()
    group.pass_time(DELAY)
    group.check_all_runs_evenly()
    golden(group)


def test_a_rolling_change_of_the_protocol(group: Group, golden: Golden) -> None:
    for name in "ab":
        group.join(name, "eager")
    group.create("c", tasks=2)
    group.lines.clear()
    for name, protocol in [("b", "sessioned"), ("a", "sessioned"), ("b", "compatible"), ("a", "eager")]:
        group.say(f"{name} is restarted with {protocol}")
        group.leave(name)
        group.join(name, protocol)
        group.check_all_runs_evenly()
    golden(group)


def test_removed_work_is_not_joined_for_again(group: Group, golden: Golden) -> None:
    for name in "ab":
        group.join(name)
    group.create("c", tasks=2)
    group.lines.clear()
    group.write(RemoveConnector(0, "c"))
    group.check_all_runs_evenly()
    golden(group)


def test_a_follower_that_cannot_read_the_config_topic(group: Group, golden: Golden) -> None:
    for name in "ab":
        group.join(name)
    group.create("c", tasks=2)
    before = {name: worker.share() for name, worker in group.workers.items()}
    group.lines.clear()
    group.say("b goes on with what it runs; what it was newly given waits")
    group.blind.add("b")
    group.create("d", tasks=2)
    group.pass_time(86.0)
    assert group.workers["b"].share() == before["b"]
    group.say("its patience is over: it gives its work back, in this order, and waits outside of the group")
    group.workers["b"].stage.hold(actions.StopTasks)
    group.pass_time(0.5)
    assert "b" not in group.away, "what still runs here must not be given to others yet"
    group.workers["b"].stage.release(actions.StopTasks)
    group.workers["b"].stage.happen(events.TasksStopped(tuple(group.workers["b"].stage.state.tasks)))
    group.reconcile()
    assert "b" in group.away and before["a"].tasks <= group.workers["a"].share().tasks
    group.pass_time(60.0)
    assert "b" in group.away
    group.say("it has read what it missed, and gets its work back")
    group.see("b")
    group.check_all_runs_evenly()
    assert before["a"].tasks <= group.workers["a"].share().tasks
    golden(group)


def test_a_leader_that_cannot_read_the_config_topic(group: Group, golden: Golden) -> None:
    for name in "abc":
        group.join(name)
    group.create("c", tasks=3)
    group.lines.clear()
    group.blind.add("a")
    group.say("the others know of more than their leader, who can assign nothing")
    group.create("d", tasks=3)
    assert not group.away and not group.workers["a"].coordinator.ready_to_join()
    group.say("it makes way for another leader")
    group.pass_time(3.0)
    assert group.workers["b"].stage.state.is_leader
    group.see("a")
    assert "a" in group.away, "its pause is not over"
    group.pass_time(6.0)
    group.pass_time(DELAY)
    group.check_all_runs_evenly()
    golden(group)


NAMES = st.sampled_from("abcd")
STEPS = st.one_of(
    st.tuples(st.just("join"), NAMES, st.sampled_from(["sessioned", "sessioned", "compatible", "eager"])),
    st.tuples(st.just("leave"), NAMES),
    st.tuples(st.just("create"), st.sampled_from("xyz"), st.integers(0, 5)),
    st.tuples(st.just("remove"), st.sampled_from("xyz")),
    st.tuples(st.just("lose"), NAMES),
    st.tuples(st.just("slow"), NAMES),
    st.tuples(st.just("stopped"), NAMES),
    st.tuples(st.just("lag"), NAMES),
    st.tuples(st.just("attend"), NAMES),
    st.tuples(st.just("blind"), NAMES),
    st.tuples(st.just("see"), NAMES),
    st.tuples(st.just("wait"), st.sampled_from([0.05, 4.0, 90.0, DELAY])),
)


class Play:
    """Steps of a random history; those that make no sense at their time do nothing."""

    def __init__(self, group: Group) -> None:
        self.group = group

    def join(self, name: str, protocol: str) -> None:
        if name not in self.group.workers:
            self.group.join(name, protocol)

    def leave(self, name: str) -> None:
        if name in self.group.workers and len(self.group.workers) > 1:
            self.group.lagging.discard(name)
            self.group.leave(name)

    def create(self, name: str, tasks: int) -> None:
        self.group.create(name, tasks)

    def remove(self, name: str) -> None:
        if self.group.topic.state.contains(name):
            self.group.write(RemoveConnector(0, name))

    def lose(self, name: str) -> None:
        if name in self.group.workers:
            self.group.lose_session(name)

    def slow(self, name: str) -> None:
        if name in self.group.workers:
            self.group.workers[name].stage.hold(actions.StopTasks, actions.StopConnector)

    def stopped(self, name: str) -> None:
        if name not in self.group.workers:
            return
        stage = self.group.workers[name].stage
        stage.release(actions.StopTasks, actions.StopConnector)
        stage.happen(events.TasksStopped(tuple(id for id, run in stage.state.tasks.items() if run.stopping)))
        for connector in [n for n, run in stage.state.connectors.items() if run.phase is RunPhase.STOPPING]:
            stage.happen(events.ConnectorStopped(connector))
        self.group.reconcile()

    def lag(self, name: str) -> None:
        self.group.lagging.add(name)

    def attend(self, name: str) -> None:
        self.group.lagging.discard(name)
        self.group.reconcile()

    def blind(self, name: str) -> None:
        if name in self.group.workers:
            self.group.blind.add(name)

    def see(self, name: str) -> None:
        self.group.see(name)

    def wait(self, seconds: float) -> None:
        self.group.pass_time(seconds)

    def end(self) -> None:
        for name in list(self.group.workers):
            self.attend(name)
            self.see(name)
        for name in list(self.group.workers):
            self.stopped(name)
        for _ in range(8):
            self.wait(DELAY)
        self.group.check_all_runs_evenly()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, max_size=25))
def test_whatever_happens_nothing_runs_twice_and_all_runs_evenly_in_the_end(
    stage: MakeStage, steps: list[tuple[Any, ...]]
) -> None:
    play = Play(Group(stage))
    play.join("a", "sessioned")
    for step, *arguments in steps:
        getattr(play, step)(*arguments)
    play.end()
