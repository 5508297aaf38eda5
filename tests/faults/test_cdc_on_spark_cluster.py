# SPDX-License-Identifier: Apache-2.0
"""Debezium on a Spark cluster whose executors are killed: each change is there once, and the copy equals the table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import psutil
import pytest

from demo.cdc.decoded import Witness, places
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.faults.debezium import (
    Orders,
    await_changes,
    await_copy,
    await_reads,
    captured_postgres,
    changes,
    changing,
    install,
    replayed,
    rows,
    running,
    sink,
    source,
)
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import Postgres, found_postgres
from tests.support.processes import alive
from tests.support.standalone_cluster import SMALL, StandaloneCluster, task_processes
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
_ROWS: Final = 300
_MEMORY: Final = "-Xmx192m -XX:TieredStopAtLevel=1"


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with captured_postgres() as postgres:
        yield postgres


@pytest.fixture(scope="module")
def warehouse() -> Iterator[Postgres]:
    """The database of the copy."""
    with Postgres(or_skip(found_postgres)) as postgres:
        yield postgres


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """Room for four executors: two have the tasks, and two take their places."""
    with StandaloneCluster(tmp_path_factory.mktemp("cluster"), workers=2, cores=2) as running:
        yield running


@pytest.fixture(scope="module")
def worker(
    broker: EmbeddedBroker, cluster: StandaloneCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    plugins = install(tmp_path_factory.mktemp("plugins"))
    properties = {"group.id": "headrace-cdc-cluster", "plugin.path": str(plugins), "java.options": _MEMORY}
    on_cluster = {"spark.master": cluster.url, **SMALL}
    with WorkerProcess(
        tmp_path_factory.mktemp("worker"), broker.bootstrap_servers, **properties, **on_cluster
    ) as running:
        yield running


def test_executors_and_tasks_are_killed_while_rows_change(
    worker: WorkerProcess,
    cluster: StandaloneCluster,
    broker: EmbeddedBroker,
    database: Postgres,
    warehouse: Postgres,
    unique: str,
) -> None:
    orders, topic, bootstrap = Orders(database, _ROWS, batch=20), f"{unique}.public.orders", broker.bootstrap_servers
    orders.create()
    config = source(database, unique)
    worker.create(f"{unique}-source", **config)
    await_reads(bootstrap, topic, worker, _ROWS)
    witness = Witness(database.sql, config["publication.name"])
    worker.create(f"{unique}-sink", **sink(warehouse, topic))
    with changing(orders):
        for victims in (
            lambda: [executor_of(cluster, database)],
            lambda: [task_of(cluster, database)],
            cluster.busy_executors,
            lambda: [executor_of(cluster, warehouse)],
        ):
            await_tasks(cluster, worker)
            await_more(bootstrap, topic, worker)
            kill(victims())
        await_tasks(cluster, worker)
    for name in ("source", "sink"):
        running(worker, f"{unique}-{name}")

    found = await_changes(bootstrap, topic, worker, orders)
    assert places(found) == witness.changes()
    assert replayed(found) == {int(row[0]): row[2] for row in rows(database, "orders")}
    await_copy(database, worker, into=warehouse)
    assert len(changes(bootstrap, topic)) == len(found)


def task_of(cluster: StandaloneCluster, database: Postgres) -> psutil.Process:
    """Return the process of the task that is connected to a database, as soon as it is."""

    def connected() -> psutil.Process | None:
        return next((each for each in processes(cluster) if database.port in remote_ports(each)), None)

    return wait_for(connected, 90, "a task that is connected to the database")


def executor_of(cluster: StandaloneCluster, database: Postgres) -> psutil.Process:
    task = task_of(cluster, database)
    return next(executor for executor in cluster.executors() if task in task_processes(executor))


def kill(found: list[psutil.Process]) -> None:
    assert found
    for each in found:
        each.kill()
    wait_for(lambda: not any(map(alive, found)), 30, "the processes' end")


def processes(cluster: StandaloneCluster) -> list[psutil.Process]:
    """Return those of both tasks, each on an executor of its own."""
    return [each for executor in cluster.executors() for each in task_processes(executor)]


def remote_ports(process: psutil.Process) -> set[int]:
    """Return the ports that a process is connected to; none once it has ended."""
    with suppress(psutil.Error):
        return {each.raddr.port for each in process.net_connections() if each.raddr}
    return set()


def await_more(bootstrap: str, topic: str, worker: WorkerProcess) -> None:
    """Wait until changes are in the topic that were not there."""
    before = len(changes(bootstrap, topic))
    wait_for(lambda: len(changes(bootstrap, topic)) > before, 90, lambda: f"changes\n{worker.log[-3000:]}", pause=0.3)


def await_tasks(cluster: StandaloneCluster, worker: WorkerProcess) -> None:
    wait_for(lambda: len(processes(cluster)) == 2, 90, lambda: f"both tasks' processes\n{worker.log[-3000:]}")
