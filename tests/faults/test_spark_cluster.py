# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of executors, of Spark's worker, master and driver, while a task runs on a standalone cluster.

Nothing is lost or doubled, offset by offset, and no rebalance takes place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_contiguous, assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.processes import alive, children_of
from tests.support.standalone_cluster import SMALL, Daemon, StandaloneCluster, task_processes
from tests.support.topics import values
from tests.support.worker_process import WorkerProcess

KILLS = 5
COUNT = 1_000_000
"""More than any test waits for."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path_factory.mktemp("cluster"), workers=2, cores=1) as running:
        yield running


@pytest.fixture(scope="module")
def there(
    cluster: StandaloneCluster, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker whose tasks run on the cluster: two executors, of which one waits."""
    properties = {"group.id": "on-a-dying-cluster", "session.timeout.ms": "30000", "spark.master": cluster.url, **SMALL}
    with WorkerProcess(tmp_path_factory.mktemp("there"), broker.bootstrap_servers, **properties) as running:
        yield running


class Numbers:
    """A connector whose numbers go on and on; times are those of commits, seen from outside."""

    def __init__(self, worker: WorkerProcess, cluster: StandaloneCluster, broker: EmbeddedBroker, name: str) -> None:
        self.worker, self.cluster, self.name = worker, cluster, name
        self._bootstrap = broker.bootstrap_servers
        create_numbered(worker, name, COUNT, **{"batch": "2", "pause.ms": "20"})
        worker.wait_for_tasks(name)

    def written(self) -> int:
        return len(values(self._bootstrap, self.name))

    def await_more(self, than: int, seconds: float = 60) -> None:
        wait_for(
            lambda: self.written() > than,
            seconds,
            lambda: f"{self.worker.status(self.name)}\n{self.worker.log[-3000:]}",
        )

    def process(self) -> psutil.Process:
        """Of its task, whichever executor has it."""

        def found() -> psutil.Process | None:
            return next((each for executor in self.cluster.executors() for each in task_processes(executor)), None)

        return wait_for(found, 60, "the task's process")

    def executor(self) -> psutil.Process:
        return wait_for(lambda: next(iter(self.cluster.busy_executors()), None), 60, "the task's executor")

    def await_spare_executor(self) -> None:
        """Until an executor waits beside the one that has the task."""
        wait_for(
            lambda: len(self.cluster.busy_executors()) == len(self.cluster.idle_executors()) == 1,
            90,
            "an executor to spare",
        )

    def seconds_without(self, kill: Callable[[], object]) -> float:
        """From the killing until there is something that only the process' successor can have written."""
        process, begun = self.process(), time.monotonic()
        kill()
        wait_for(lambda: not alive(process), 90, "the end of the task's process")
        self.await_more(self.written())
        return time.monotonic() - begun

    def end(self) -> None:
        """Nothing was lost or doubled; offsets are where the records are."""
        self.worker.stop_connector(self.name)
        seen = values(self._bootstrap, self.name)
        assert_contiguous(seen, len(seen))
        topic = self.worker.properties["offset.storage.topic"]
        assert_exactly_once(self._bootstrap, self.name, len(seen), topic, self.name)
        self.worker.delete(self.name)


@pytest.fixture
def numbers(there: WorkerProcess, cluster: StandaloneCluster, broker: EmbeddedBroker, unique: str) -> Iterator[Numbers]:
    made = Numbers(there, cluster, broker, unique)
    yield made
    there.rest.delete(f"/connectors/{unique}")  # which is still there after a failure only


def rebalances(worker: WorkerProcess) -> float:
    lines = worker.rest.get("/metrics").text.splitlines()
    name = "kafka_connect_worker_rebalance_completed_rebalances_total"
    return float(next(line for line in lines if line.startswith(name)).split()[-1])


def session(worker: WorkerProcess) -> float:
    """Seconds that a group waits for a worker that is gone."""
    return int(worker.properties["session.timeout.ms"]) / 1000


@pytest.mark.parametrize("kills", [1, KILLS])
def test_executors_are_killed(numbers: Numbers, kills: int) -> None:
    before, times = rebalances(numbers.worker), []
    for _ in range(kills):
        numbers.await_more(numbers.written())
        numbers.await_spare_executor()
        times.append(numbers.seconds_without(numbers.executor().kill))
    print("committed again after", ", ".join(f"{each:.2f} s" for each in times))
    assert rebalances(numbers.worker) == before
    assert median(times) < session(numbers.worker), "nothing may wait for a session to end"
    numbers.end()


def test_sparks_workers_are_killed(numbers: Numbers) -> None:
    times = []
    for _ in range(KILLS):
        numbers.await_more(numbers.written())
        numbers.await_spare_executor()
        worker = host_of(numbers.cluster, numbers.executor())
        times.append(numbers.seconds_without(worker.kill))
        worker.start()
    print("committed again after", ", ".join(f"{each:.2f} s" for each in times))
    assert median(times) < session(numbers.worker), "nothing may wait for a session to end"
    numbers.end()


def test_a_machine_that_is_suspended_is_replaced_and_resumes_as_a_zombie(numbers: Numbers) -> None:
    """No connection breaks: only missing heartbeats show it."""
    numbers.await_more(numbers.written())
    numbers.await_spare_executor()
    host = host_of(numbers.cluster, numbers.executor())
    frozen = [psutil.Process(host.launched.pid), *children_of(host.launched.pid, recursive=True)]
    for process in frozen:
        process.suspend()
    begun = time.monotonic()
    wait_for(lambda: numbers.written() == numbers.written(), 10, "the end of the last commit")
    numbers.await_more(numbers.written())
    print(f"committed again after {time.monotonic() - begun:.2f} s")
    for process in frozen:
        if alive(process):
            process.resume()
    numbers.await_more(numbers.written())
    numbers.end()


def test_the_drivers_jvm_is_killed(numbers: Numbers) -> None:
    numbers.await_more(numbers.written())
    print(f"committed again after {numbers.seconds_without(numbers.worker.jvm().kill):.2f} s")
    numbers.end()


def test_a_master_that_restarts_without_recovery_gets_a_new_application(numbers: Numbers) -> None:
    """It knows nothing of the application, and has its executors killed."""
    numbers.await_more(numbers.written())
    process = numbers.process()
    numbers.cluster.master.kill()
    numbers.await_more(numbers.written())
    assert alive(process), "tasks do not need the master"
    print(f"committed again after {numbers.seconds_without(numbers.cluster.master.start):.2f} s")
    numbers.end()


def host_of(cluster: StandaloneCluster, executor: psutil.Process) -> Daemon:
    return next(worker for worker in cluster.workers if executor in worker.executors())
