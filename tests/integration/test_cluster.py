# SPDX-License-Identifier: Apache-2.0
"""Three real workers and thirty tasks: one is killed, one joins, all are replaced; others' tasks go on undisturbed."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess

SESSION_S, DELAY_S = 6, 2
TASKS = [1, 2, 3, 4] * 3
"""Of each connector."""
PATIENCE_S = 150.0
"""For a machine that has other things to do; how long things really took is printed, and compared with each other."""
LOOK_S = 0.2

Task = tuple[str, int]


class Cluster:
    def __init__(self, broker: EmbeddedBroker, directory: Path, group: str) -> None:
        self.brokers = broker.bootstrap_servers
        self._directory = directory
        self._group = group
        self._numbers = itertools.count()
        self.made: list[WorkerProcess] = []
        self.workers: list[WorkerProcess] = []
        """Those that are meant to be there."""
        self.connectors = {f"{group}-{number}": tasks for number, tasks in enumerate(TASKS)}

    def new_worker(self) -> WorkerProcess:
        directory = self._directory / f"worker-{next(self._numbers)}"
        directory.mkdir()
        properties = {
            "group.id": self._group,
            "session.timeout.ms": f"{SESSION_S * 1000}",
            "heartbeat.interval.ms": "1500",
            "scheduled.rebalance.max.delay.ms": f"{DELAY_S * 1000}",
        }
        worker = WorkerProcess(directory, self.brokers, **properties)
        self.made.append(worker)
        return worker

    def start(self, *workers: WorkerProcess) -> None:
        for worker in workers:
            worker.launch()
            self.workers.append(worker)
        for worker in workers:
            worker.await_answer(path="/connectors")

    def create_all(self) -> None:
        for (name, tasks), worker in zip(self.connectors.items(), itertools.cycle(self.workers), strict=False):
            worker.create(
                name,
                **{
                    "connector.class": "VerifiableSource",
                    "tasks.max": f"{tasks}",
                    "topic": name,
                    "throughput": "2",
                    "transaction.boundary": "interval",
                    "transaction.boundary.interval.ms": "1000",
                },
            )

    def owners(self) -> dict[Task, str]:
        """Who runs each task; none if not all of all connectors are RUNNING on workers that are here."""
        addresses = {f"127.0.0.1:{worker.port}" for worker in self.workers}
        found = {}
        statuses = self.statuses()
        for name, tasks in self.connectors.items():
            status = statuses.get(name, {})
            states = [status.get("connector", {}), *status.get("tasks", [])]
            if len(states) != 1 + tasks:
                return {}
            if any(state.get("state") != "RUNNING" or state["worker_id"] not in addresses for state in states):
                return {}
            found.update({(name, task["id"]): task["worker_id"] for task in status["tasks"]})
        return found

    def statuses(self) -> dict[str, dict[str, Any]]:
        answer = self.workers[0].rest.get("/connectors", params={"expand": "status"})
        return {name: shown["status"] for name, shown in answer.json().items()} if answer.status_code == 200 else {}

    def wait_for_all(self) -> None:
        poll(self.owners, lambda: f"all tasks RUNNING: {self._states()}")

    def wait_for_balance(self) -> None:
        """Each worker runs as many tasks as any other, but for one."""

        def balanced() -> bool:
            counts = Counter(self.owners().values())
            return len(counts) == len(self.workers) and max(counts.values()) - min(counts.values()) <= 1

        poll(balanced, lambda: f"an equal share for each: {self._states()}")

    def _states(self) -> str:
        states = [(name, task) for name, status in self.statuses().items() for task in status["tasks"]]
        shown = [f"{name}-{task['id']} {task['state']} {task['worker_id']}" for name, task in states]
        return "\n".join([*shown, *(worker.log[-1500:] for worker in self.workers)])


def poll(condition: Callable[[], object], what: Callable[[], str]) -> None:
    """Looking costs the workers time that they could start with."""
    wait_for(condition, PATIENCE_S, what, pause=LOOK_S)


@pytest.fixture
def cluster(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> Iterator[Cluster]:
    running = Cluster(broker, tmp_path, f"cluster-{unique}")
    try:
        yield running
    finally:
        for worker in running.workers:
            worker.kill()  # an orderly end of each was seen before, or does not matter any more
        for worker in running.made:
            worker.close()


@pytest.fixture
def timed(capsys: pytest.CaptureFixture[str]) -> Callable[[str], Any]:
    """A context manager that prints how long something took; what it yields holds the seconds afterwards."""

    @contextmanager
    def timing(what: str) -> Iterator[list[float]]:
        began, seconds = time.monotonic(), list[float]()
        yield seconds
        seconds.append(time.monotonic() - began)
        with capsys.disabled():
            print(f"\n{what}: {seconds[0]:.1f} s, load {os.getloadavg()[0]:.1f}", end="")

    return timing


@pytest.mark.timeout(1200)
def test_workers_come_and_go(cluster: Cluster, timed: Callable[[str], Any]) -> None:
    first, second, third = (cluster.new_worker() for _ in range(3))
    with timed("three workers start, and thirty tasks") as start:
        cluster.start(first, second, third)
        cluster.create_all()
        cluster.wait_for_all()
        cluster.wait_for_balance()

    undisturbed = pids(first, second)
    with timed("all RUNNING after a kill") as recovery:
        third.kill()
        cluster.workers.remove(third)
        cluster.wait_for_all()
    # After session and delay there are ten tasks to start, on workers that are there: a part of what the start took.
    assert recovery[0] < SESSION_S + DELAY_S + start[0]
    assert undisturbed <= pids(first, second), "tasks of workers that live on were restarted"

    before = pids(first, second)
    with timed("a worker starts and has its share"):
        fourth = cluster.new_worker()
        cluster.start(fourth)
        cluster.wait_for_balance()
    # What the newcomer runs was taken from the others, and no more than that was touched.
    assert pids(first, second) <= before, "tasks that stay were restarted"

    with timed("three workers replaced, one after the other"):
        for worker in (first, second, fourth):
            assert worker.stop() == 0, worker.log[-3000:]
            cluster.workers.remove(worker)
            cluster.start(worker)
            cluster.wait_for_all()

    assert_nothing_lost_or_doubled(cluster)


def pids(*workers: WorkerProcess) -> set[tuple[int, float]]:
    """The processes of tasks; a task that was restarted has another one."""
    return {(process.pid, created(process)) for worker in workers for process in worker.task_processes()}


def created(process: psutil.Process) -> float:
    return float(process.create_time())


def assert_nothing_lost_or_doubled(cluster: Cluster) -> None:
    for name, tasks in cluster.connectors.items():
        seen: dict[bytes | None, list[int]] = defaultdict(list)
        for record in read_committed(cluster.brokers, name):
            seen[record.key].append(int(record.value or b"-1"))
        assert len(seen) == tasks
        for key, numbers in seen.items():
            assert_counts_up(f"task {key!r} of {name}", numbers)


def assert_counts_up(what: str, numbers: Sequence[int]) -> None:
    wrong = [(place, number) for place, number in enumerate(numbers) if place != number]
    assert not wrong, f"{what}: {len(numbers)} records, the first out of place: {wrong[:3]}"
