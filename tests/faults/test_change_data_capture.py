# SPDX-License-Identifier: Apache-2.0
"""Debezium's PostgreSQL connector and its JDBC sink, unchanged: a table is copied while all around it is killed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from demo.cdc.decoded import Witness, places
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.faults.debezium import (
    Change,
    Orders,
    await_changes,
    await_copy,
    await_reads,
    captured_postgres,
    changes,
    install,
    kill_database,
    kill_tasks,
    kill_worker,
    kinds,
    reads,
    rows,
    running,
    sink,
    source,
)
from tests.support.polling import wait_for
from tests.support.postgres import Postgres
from tests.support.processes import command_of, kill_all
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]
_ROWS: Final = 2_000
_SMALL: Final = {"max.batch.size": "20", "max.queue.size": "40"}
"""Debezium is never far ahead of what is committed, so that a kill comes in the middle of a snapshot."""


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    """A database of its own: it is killed."""
    with captured_postgres() as postgres:
        yield postgres


@pytest.fixture(scope="module")
def shared_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker of its own: it is killed."""
    properties = {"group.id": "headrace-cdc", "plugin.path": str(install(tmp_path_factory.mktemp("plugins")))}
    with WorkerProcess(tmp_path_factory.mktemp("cdc"), broker.bootstrap_servers, **properties) as running:
        yield running


@pytest.fixture
def worker(shared_worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """The same; no other test's connectors are there."""
    yield shared_worker
    for name in shared_worker.connectors():
        shared_worker.delete(name)


def test_a_table_is_copied_while_all_around_it_is_killed(
    worker: WorkerProcess, broker: EmbeddedBroker, database: Postgres, unique: str
) -> None:
    orders, topic, bootstrap = Orders(database, _ROWS), f"{unique}.public.orders", broker.bootstrap_servers
    orders.create()
    config = source(database, unique)
    worker.create(f"{unique}-source", **config)
    await_reads(bootstrap, topic, worker, _ROWS)
    witness = Witness(database.sql, config["publication.name"])
    worker.create(f"{unique}-sink", **sink(database, topic))
    kills = (nothing, kill_tasks, nothing, kill_database, kill_spark, kill_tasks, kill_hosts, kill_worker)
    for kill in kills:
        for _ in range(3):
            orders.change()
        kill(worker, database)
        if kill is nothing:
            orders.add_column()
    for _ in range(3):
        orders.change()
    for name in ("source", "sink"):
        running(worker, f"{unique}-{name}")

    found = await_changes(bootstrap, topic, worker, orders)
    assert kinds(found)["r"] == _ROWS
    assert places(found) == witness.changes()
    assert replayed(found) == {int(row[0]): row[2] for row in rows(database, "orders")}
    await_copy(database, worker)
    assert len(changes(bootstrap, topic)) == len(found)


def test_a_first_snapshot_that_is_cut_off_begins_anew(
    worker: WorkerProcess, broker: EmbeddedBroker, database: Postgres, unique: str
) -> None:
    """Debezium begins it anew. What was changed before the last one began is in the rows of that one alone."""
    items, topic, bootstrap = Orders(database, 3 * _ROWS, "items"), f"{unique}.public.items", broker.bootstrap_servers
    items.create()
    first_row, seen = rows(database, "items")[:1], 0
    worker.create(f"{unique}-source", **source(database, unique, **_SMALL, **{"table.include.list": "public.items"}))
    for kill in (kill_tasks, kill_worker):
        await_reads(bootstrap, topic, worker, seen + items.rows // 4)
        kill(worker, database)
        database.sql("DELETE FROM items WHERE id = 0")
        read = reads(changes(bootstrap, topic))
        assert len(read) < items.rows - 500, f"{len(read)} rows were read before the kill"
        seen = read.total()
    await_reads(bootstrap, topic, worker, seen + 200)  # more than a transaction has: so the last snapshot has begun
    items.ids.remove(0)
    items.change()

    found = await_changes(bootstrap, topic, worker, items)
    read = reads(found)
    print(f"{dict(kinds(found))}, {read.total() - len(read)} rows read more than once")
    assert read.keys() == set(range(items.rows))
    # The row that was deleted between two snapshots stays as the first one has read it.
    assert [change["op"] for change in found if 0 in ids(change)] == ["r"]
    worker.create(f"{unique}-sink", **sink(database, topic, **{"collection.name.format": "items_copy"}))
    expected = first_row + rows(database, "items")
    wait_for(lambda: database.has_table("items_copy"), 60, lambda: worker.log[-3000:])
    wait_for(lambda: rows(database, "items_copy") == expected, 180, lambda: f"copy\n{worker.log[-3000:]}", pause=1)


def ids(change: Change) -> set[int]:
    return {row["id"] for row in (change["before"], change["after"]) if row}


def replayed(found: list[Change]) -> dict[int, str]:
    """Return the notes of the rows by their ids after all changes; each row was there before it is deleted."""
    rows: dict[int, str] = {}
    for change in found:
        if change["op"] == "d":
            del rows[change["before"]["id"]]
        else:
            rows[change["after"]["id"]] = change["after"]["note"]
    return rows


def nothing(worker: WorkerProcess, database: Postgres) -> None:
    """Kill no process."""


def kill_hosts(worker: WorkerProcess, database: Postgres) -> None:
    """Kill the processes that have the connectors' JVMs in them: both connectors fail, and are restarted."""
    names = worker.connectors()

    def states() -> set[str]:
        return {worker.status(name)["connector"]["state"] for name in names}

    kill_all(each for each in worker.descendants() if "headrace.java.host_process" in command_of(each))
    wait_for(lambda: states() == {"FAILED"}, 30, lambda: f"both connectors FAILED: {states()}")
    for name in names:
        running(worker, name)


def kill_spark(worker: WorkerProcess, database: Postgres) -> None:
    """Kill the JVM of Spark's driver, and with it all tasks."""
    kill_all([worker.jvm()])
