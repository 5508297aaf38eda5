# SPDX-License-Identifier: Apache-2.0
"""A connector in a JVM of its own: whatever it does to that JVM, no other connector's tasks notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_contiguous, create_numbered
from tests.support.polling import wait_for, within
from tests.support.processes import command_of
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 300
ISOLATED = {"spark.task.isolation": "connector"}
SQL = {"transforms": "q", "transforms.q.type": "SparkSql"}
DEADLY = {**SQL, "transforms.q.query": "SELECT java_method('java.lang.System', 'exit', 3) AS value FROM records"}
HARMLESS = {**SQL, "transforms.q.query": "SELECT value FROM records"}


@pytest.fixture(scope="module")
def open_worker(
    broker: EmbeddedBroker, own_tmp: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker that allows a function which ends a JVM at once, where lack of memory would take its time."""
    own = {"group.id": "headrace-isolation", "spark.sql.functions.allowed": "java_method", "frame.job.deaths.max": "2"}
    with WorkerProcess(tmp_path_factory.mktemp("open-worker"), broker.bootstrap_servers, **own) as running:
        running.await_answer(path="/health")
        yield running


def hosts(worker: WorkerProcess) -> list[psutil.Process]:
    """The processes that have a connector's own JVM."""
    return [each for each in worker.descendants() if "headrace.spark.engine.jvm_host" in command_of(each)]


def jvms(worker: WorkerProcess) -> list[psutil.Process]:
    """Each JVM, the shared one too."""
    return [each for each in worker.descendants() if "org.apache.spark.deploy.SparkSubmit" in command_of(each)]


def test_repeated_deaths_of_an_isolated_jvm_affect_only_its_connector(
    open_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    create_numbered(open_worker, unique, COUNT, batch="1", **{"pause.ms": "50"})
    open_worker.wait_for_tasks(unique)
    wait_for_values(broker.bootstrap_servers, unique, 5)
    before = open_worker.task_process().pid, [each.pid for each in jvms(open_worker)]
    deadly = f"{unique}-deadly"
    create_numbered(open_worker, deadly, 10, **DEADLY, **ISOLATED)
    seen: set[int] = set()

    def failed() -> bool:
        seen.update(each.pid for each in hosts(open_worker))
        return open_worker.task_states(deadly) == ["FAILED"]

    wait_for(failed, 120, lambda: open_worker.log[-4000:])
    trace = open_worker.status(deadly)["tasks"][0]["trace"]
    assert f"Spark's engine died 2 times within 600 s while it ran frame jobs of connector {deadly}" in trace
    assert len(seen) >= 2, "it was started again"
    wait_for(lambda: not hosts(open_worker), 15, "a JVM without tasks ends")
    assert (open_worker.task_process().pid, [each.pid for each in jvms(open_worker)]) == before
    assert_contiguous(wait_for_values(broker.bootstrap_servers, unique, COUNT, 60), COUNT)
    assert [task["state"] for task in open_worker.status(unique)["tasks"]] == ["RUNNING"]
    assert f"Task {unique}-0: attempt 1" not in open_worker.log
    for name in (unique, deadly):
        open_worker.delete(name)


def test_an_isolated_connectors_jvm_lasts_as_long_as_its_tasks(
    open_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    create_numbered(open_worker, unique, 20, **HARMLESS, **ISOLATED)
    assert_contiguous(wait_for_values(broker.bootstrap_servers, unique, 20, 90), 20)
    [host] = hosts(open_worker)
    [task] = [each for each in host.children(recursive=True) if each in open_worker.task_processes()]
    assert any(each in host.children() for each in jvms(open_worker)), "its tasks and its frame jobs run there"
    open_worker.rest.put(f"/connectors/{unique}/pause").raise_for_status()
    open_worker.wait_for_tasks(unique, "PAUSED")
    assert hosts(open_worker) == [host], "a paused task keeps what it has"
    open_worker.rest.put(f"/connectors/{unique}/stop").raise_for_status()
    wait_for(lambda: not hosts(open_worker) and not task.is_running(), 20, "a stopped connector has no JVM")
    open_worker.delete(unique)


@pytest.mark.parametrize("value", ["task", "Connector"])
def test_another_isolation_is_refused(open_worker: WorkerProcess, unique: str, value: str) -> None:
    config = {"connector.class": "numbered_source.NumberedSourceConnector", "spark.task.isolation": value}
    answer = open_worker.rest.put(f"/connectors/{unique}/config", json=config)
    assert answer.status_code == 400
    assert f"Invalid value '{value}' for configuration spark.task.isolation" in answer.json()["message"]


def test_no_jvm_outlives_a_worker_that_is_killed(
    open_worker: WorkerProcess, broker: EmbeddedBroker, own_tmp: Path, unique: str
) -> None:
    """Not even one whose host stands still at that moment; that one goes with the next start."""
    for name in (unique, f"{unique}-stands"):
        create_numbered(open_worker, name, 20, **HARMLESS, **ISOLATED)
        open_worker.wait_for_tasks(name)
    [directory] = own_tmp.glob("headrace-*")
    first, second = hosts(open_worker)
    second.suspend()
    left = second.children(recursive=True)
    open_worker.kill()
    within(15, lambda: set(open_worker.leftovers()) <= {second, *left}, lambda: str(open_worker.leftovers()))
    assert first not in open_worker.leftovers()
    open_worker.start()
    wait_for(lambda: not (directory.exists() or open_worker.leftovers()), 10, lambda: str(open_worker.leftovers()))
    for name in (unique, f"{unique}-stands"):
        open_worker.wait_for_tasks(name)
        assert_contiguous(wait_for_values(broker.bootstrap_servers, name, 20), 20)
        open_worker.delete(name)
    wait_for(lambda: not hosts(open_worker), 20, "a deleted connector has no JVM")
