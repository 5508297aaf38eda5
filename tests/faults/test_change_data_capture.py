# SPDX-License-Identifier: Apache-2.0
"""Debezium's PostgreSQL connector and its JDBC sink, unchanged: a table is copied while all around it is killed."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.java.store import PluginStore
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import USER, Postgres, found_postgres
from tests.support.processes import alive
from tests.support.topics import values
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]
_VERSION: Final = "3.3.1.Final"
_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"
_ROWS: Final = 2_000
_BATCH: Final = 200
_KINDS: Final = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}


@dataclass
class Orders:
    """A table that changes, and the number of its changes."""

    postgres: Postgres
    dice: random.Random = field(default_factory=lambda: random.Random(7))
    ids: list[int] = field(default_factory=lambda: list(range(_ROWS)))
    changes: Counter[str] = field(default_factory=Counter)
    next_id: int = _ROWS
    columns: int = 0

    def create(self) -> None:
        self.postgres.sql(f"""
            CREATE TABLE orders (id bigint PRIMARY KEY, price numeric(12,2), at timestamptz, day date, note text);
            INSERT INTO orders SELECT n, n / 4.0, now(), '2026-11-23', 'snapshot ' || n
            FROM generate_series(0, {_ROWS - 1}) n""")

    def change(self) -> None:
        """Change a batch of rows, one transaction."""
        statements = [self._statement(self.dice.choice(tuple(_KINDS))) for _ in range(_BATCH)]
        self.postgres.sql(";\n".join(statements))

    def add_column(self) -> None:
        self.columns += 1
        self.postgres.sql(f"ALTER TABLE orders ADD COLUMN more{self.columns} text")

    def _statement(self, kind: str) -> str:
        self.changes[_KINDS[kind]] += 1
        price, text = self.dice.randrange(10**6) / 100, f"{kind} {self.dice.random()} ''ü''"
        if kind == "INSERT":
            self.next_id += 1
            self.ids.append(self.next_id)
            return f"INSERT INTO orders (id, price, at, note) VALUES ({self.next_id}, {price}, now(), '{text}')"
        place = self.dice.randrange(len(self.ids))
        if kind == "DELETE":
            self.ids[place], self.ids[-1] = self.ids[-1], self.ids[place]
            return f"DELETE FROM orders WHERE id = {self.ids.pop()}"
        more = "".join(f", more{number} = '{text}'" for number in range(1, self.columns + 1))
        return f"UPDATE orders SET price = {price}, note = '{text}'{more} WHERE id = {self.ids[place]}"


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin path with Debezium's connectors, as the command installs them."""
    directory = tmp_path_factory.mktemp("plugins")
    for name in ("debezium-connector-postgres", "debezium-connector-jdbc"):
        or_skip(lambda name=name: PluginStore(directory).install(f"io.debezium:{name}:{_VERSION}"))  # type: ignore[misc]
    return directory


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    """A PostgreSQL with logical decoding, of its own: it is killed."""
    with Postgres(or_skip(found_postgres), wal_level="logical") as postgres:
        yield postgres


@pytest.fixture(scope="module")
def worker(broker: EmbeddedBroker, plugins: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker of its own: it is killed."""
    properties = {"group.id": "headrace-cdc", "plugin.path": str(plugins)}
    with WorkerProcess(tmp_path_factory.mktemp("cdc"), broker.bootstrap_servers, **properties) as worker:
        yield worker


def source(database: Postgres, prefix: str) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(database.port),
        "database.user": USER,
        "database.password": "any",
        "database.dbname": "postgres",
        "plugin.name": "pgoutput",
        "publication.autocreate.mode": "filtered",
        "slot.name": prefix.replace("-", "_"),
        "slot.drop.on.stop": "false",
        "topic.prefix": prefix,
        "table.include.list": "public.orders",
        "poll.interval.ms": "100",
        "exactly.once.support": "required",
        "key.converter": _CONVERTER,
        "value.converter": _CONVERTER,
    }


def sink(database: Postgres, topic: str) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": topic,
        "connection.url": database.jdbc_url,
        "connection.username": USER,
        "connection.password": "any",
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "collection.name.format": "orders_copy",
        "key.converter": _CONVERTER,
        "value.converter": _CONVERTER,
    }


def test_a_table_is_copied_while_all_around_it_is_killed(
    worker: WorkerProcess, broker: EmbeddedBroker, database: Postgres, unique: str
) -> None:
    orders, topic = Orders(database), f"{unique}.public.orders"
    orders.create()
    worker.create(f"{unique}-source", **source(database, unique))
    wait_for(lambda: len(values(broker.bootstrap_servers, topic)) >= _ROWS, 120, "the snapshot", pause=1)
    worker.create(f"{unique}-sink", **sink(database, topic))
    for kill in (nothing, kill_tasks, nothing, kill_database, kill_tasks, kill_worker):
        for _ in range(3):
            orders.change()
        kill(worker, database)
        if kill is nothing:
            orders.add_column()
    for _ in range(3):
        orders.change()
    for name in ("source", "sink"):
        running(worker, f"{unique}-{name}")

    expected = sum(orders.changes.values()) + _ROWS
    wait_for(lambda: len(changes(broker, topic)) >= expected, 180, lambda: worker.log[-3000:], pause=1)
    found = changes(broker, topic)
    assert Counter(each["op"] for each in found) == orders.changes + Counter(r=_ROWS)
    original = rows(database, "orders")
    assert replayed(found) == {int(row[0]): row[2] for row in original}
    wait_for(lambda: database.has_table("orders_copy"), 60, lambda: worker.log[-3000:])

    def copied() -> bool:
        return rows(database, "orders_copy") == original

    wait_for(copied, 180, lambda: f"the copy\n{worker.log[-3000:]}", pause=1)
    assert len(changes(broker, topic)) == expected


def rows(database: Postgres, table: str) -> list[list[str]]:
    """Return a table's rows; a column that was added later may be missing from the copy for a while."""
    more = ", ".join(f"to_jsonb(t) ->> '{name}'" for name in ("more1", "more2"))
    return database.sql(f"SELECT id, price, note, {more} FROM {table} t ORDER BY id")


def changes(broker: EmbeddedBroker, topic: str) -> list[dict[str, Any]]:
    """Return the committed changes in the topic's order; the tombstones behind deletions are left out."""
    return [json.loads(each)["payload"] for each in values(broker.bootstrap_servers, topic) if each is not None]


def replayed(found: list[dict[str, Any]]) -> dict[int, str]:
    """Return the notes of the rows by their ids after all changes."""
    rows: dict[int, str] = {}
    for change in found:
        if change["op"] == "d":
            del rows[change["before"]["id"]]
        else:
            rows[change["after"]["id"]] = change["after"]["note"]
    return rows


def running(worker: WorkerProcess, connector: str) -> None:
    """Wait until connector and task run; restart what has failed, as an operator does."""

    def runs() -> bool:
        if worker.task_states(connector) == ["RUNNING"]:
            return True
        if "FAILED" in worker.task_states(connector):
            worker.rest.post(f"/connectors/{connector}/restart?includeTasks=true&onlyFailed=true")
        return False

    wait_for(runs, 120, lambda: str(worker.status(connector)), pause=1)


def nothing(worker: WorkerProcess, database: Postgres) -> None:
    """Kill nobody."""


def kill_tasks(worker: WorkerProcess, database: Postgres) -> None:
    killed: list[psutil.Process] = worker.task_processes()
    for process in killed:
        process.kill()
    wait_for(lambda: not any(map(alive, killed)), 30, "the processes' end")


def kill_database(worker: WorkerProcess, database: Postgres) -> None:
    database.kill()
    database.start()


def kill_worker(worker: WorkerProcess, database: Postgres) -> None:
    worker.kill()
    worker.start()
