# SPDX-License-Identifier: Apache-2.0
"""Debezium's incremental snapshots, requested in the signal table, while tables change and all around is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.faults.debezium import (
    Orders,
    await_changes,
    await_copy,
    await_reads,
    captured_postgres,
    changes,
    changing,
    execute_snapshot,
    install,
    kill_database,
    kill_tasks,
    kill_worker,
    kinds,
    reads,
    replayed,
    rows,
    sink,
    source,
)
from tests.support.polling import wait_for
from tests.support.postgres import Postgres
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]
_ROWS: Final = 6_000
_SMALL: Final = {
    "incremental.snapshot.chunk.size": "10",
    # Debezium is never far ahead of what is committed, so that a kill comes in the middle of the snapshot.
    "max.batch.size": "100",
    "max.queue.size": "200",
}


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with captured_postgres() as postgres:
        yield postgres


@pytest.fixture(scope="module")
def worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    properties = {"group.id": "headrace-snapshots", "plugin.path": str(install(tmp_path_factory.mktemp("plugins")))}
    with WorkerProcess(tmp_path_factory.mktemp("worker"), broker.bootstrap_servers, **properties) as worker:
        yield worker


def test_a_table_is_added_and_all_around_it_is_killed_during_its_snapshot(
    worker: WorkerProcess, broker: EmbeddedBroker, database: Postgres, unique: str
) -> None:
    orders, items = Orders(database, 500), Orders(database, _ROWS, "items", batch=10)
    topic, bootstrap = f"{unique}.public.items", broker.bootstrap_servers
    orders.create()
    items.create()
    config = source(database, unique, **_SMALL)
    worker.create(unique, **config)
    await_reads(bootstrap, f"{unique}.public.orders", worker, orders.rows)

    def cut_off(kill: Callable[[WorkerProcess, Postgres], None]) -> None:
        """Have the task read more than there is, so that it runs, and kill."""
        await_reads(bootstrap, topic, worker, kinds(changes(bootstrap, topic))["r"] + 300)
        kill(worker, database)
        seen = len(reads(changes(bootstrap, topic)))
        assert seen < _ROWS - 500, f"{seen} rows were read before the kill"

    added = worker.rest.put(
        f"/connectors/{unique}/config", json={**config, "table.include.list": "public.orders,public.items"}
    )
    assert added.status_code == 200, added.text
    published = "SELECT 1 FROM pg_publication_tables WHERE tablename = 'items'"
    wait_for(lambda: database.sql(published), 60, lambda: worker.log[-3000:])
    with changing(items):
        wait_for(lambda: changes(bootstrap, topic), 60, lambda: worker.log[-3000:])
        execute_snapshot(database, "public.items")
        cut_off(kill_tasks)
        cut_off(kill_worker)
    cut_off(kill_database)  # not while rows change, which would fail
    items.change()

    def missing() -> set[int]:
        found = replayed(changes(bootstrap, topic))
        return {int(row[0]) for row in rows(database, "items")} - found.keys()

    def stuck() -> str:
        return f"rows {sorted(missing())}\n{worker.status(unique)}\n{snapshot_lines(worker)}"

    wait_for(lambda: not missing(), 60, stuck, pause=1)
    found = await_changes(bootstrap, topic, worker, items)
    read = reads(found)
    twice = sum(count - 1 for count in read.values())
    print(f"{dict(kinds(found))}, {twice} rows read more than once")
    # A row that is deleted, or changes while its chunk is read, is not in the snapshot: fewer are read than there were.
    assert set(range(_ROWS)) - read.keys() <= changed(found)
    assert replayed(found) == {int(row[0]): row[2] for row in rows(database, "items")}
    worker.create(f"{unique}-sink", **sink(database, topic))
    await_copy(database, worker, "items")


def snapshot_lines(worker: WorkerProcess) -> str:
    """Return the last lines of Debezium's about incremental snapshots."""
    return "\n".join([line for line in worker.log.splitlines() if "snapshot.incremental" in line][-20:])


def changed(found: list[dict[str, Any]]) -> set[int]:
    """Return the rows that have changes of their own."""
    return {(change["after"] or change["before"])["id"] for change in found if change["op"] != "r"}
