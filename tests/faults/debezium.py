# SPDX-License-Identifier: Apache-2.0
"""Debezium's PostgreSQL source and JDBC sink as `examples/cdc` configures them, tables that change, and their changes.

A change is an event's payload; its `op` is c, u, d, or r of a snapshot.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from demo.cdc.decoded import places
from demo.running import repeating
from headrace.java.store import PluginStore
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import USER, Postgres, found_postgres
from tests.support.processes import kill_all
from tests.support.topics import values
from tests.support.worker_process import ROOT, WorkerProcess

Change = dict[str, Any]
EXAMPLE: Final = ROOT / "examples" / "cdc"
PLUGINS: Final = tuple(f"io.debezium:debezium-connector-{name}:3.3.1.Final" for name in ("postgres", "jdbc"))
_KINDS: Final = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}


def install(directory: Path) -> Path:
    """Install both connectors into a plugin path, which is returned; skip the test where they cannot be fetched."""
    for plugin in PLUGINS:
        or_skip(lambda plugin=plugin: PluginStore(directory).install(plugin))  # type: ignore[misc]
    return directory


@contextmanager
def captured_postgres() -> Iterator[Postgres]:
    """A PostgreSQL with logical decoding and the example's table for signals; skip the test where there is none."""
    with Postgres(or_skip(found_postgres), wal_level="logical") as postgres:
        postgres.sql((EXAMPLE / "signal.sql").read_text())
        yield postgres


def source(database: Postgres, prefix: str, **more: str) -> dict[str, str]:
    """Return the example's source, of this database; topics are named `prefix.public.table`."""
    return {
        **_example("source"),
        "database.hostname": "127.0.0.1",
        "database.port": str(database.port),
        "database.dbname": "postgres",
        "slot.name": prefix.replace("-", "_"),
        "publication.name": prefix.replace("-", "_"),
        "topic.prefix": prefix,
        "poll.interval.ms": "100",
        **more,
    }


def sink(database: Postgres, topics: str, **more: str) -> dict[str, str]:
    """Return the example's sink, from these topics to table `orders_copy` of this database."""
    url = {"connection.url": database.jdbc_url, "connection.username": USER}
    return {**_example("sink"), "topics": topics, **url, "collection.name.format": "orders_copy", **more}


def _example(name: str) -> dict[str, str]:
    config: dict[str, str] = json.loads((EXAMPLE / f"{name}.json").read_text())["config"]
    return config


def execute_snapshot(database: Postgres, *tables: str) -> None:
    """Request an incremental snapshot of tables in the table for signals."""
    request = json.dumps({"data-collections": tables, "type": "incremental"})
    database.sql(f"INSERT INTO debezium_signal VALUES (gen_random_uuid(), 'execute-snapshot', '{request}')")


@dataclass
class Orders:
    """A table that changes at random, and the number of its changes by kind."""

    postgres: Postgres
    rows: int
    name: str = "orders"
    batch: int = 200
    dice: random.Random = field(default_factory=lambda: random.Random(7))
    changes: Counter[str] = field(default_factory=Counter)
    columns: int = 0

    def __post_init__(self) -> None:
        self.ids, self.next_id = list(range(self.rows)), self.rows

    def create(self) -> None:
        self.postgres.sql(f"""
            CREATE TABLE {self.name} (id bigint PRIMARY KEY, price numeric(12,2), at timestamptz, day date, note text);
            INSERT INTO {self.name} SELECT n, n / 4.0, now(), '2026-11-23', 'snapshot ' || n
            FROM generate_series(0, {self.rows - 1}) n""")

    def change(self) -> None:
        """Change a batch of rows, one transaction."""
        statements = [self._statement(self.dice.choice(tuple(_KINDS))) for _ in range(self.batch)]
        self.postgres.sql(";\n".join(statements))

    def add_column(self) -> None:
        self.columns += 1
        self.postgres.sql(f"ALTER TABLE {self.name} ADD COLUMN more{self.columns} text")

    def _statement(self, kind: str) -> str:
        self.changes[_KINDS[kind]] += 1
        price, text = self.dice.randrange(10**6) / 100, f"{kind} {self.dice.random()} ''ü''"
        if kind == "INSERT":
            self.next_id += 1
            self.ids.append(self.next_id)
            return f"INSERT INTO {self.name} (id, price, at, note) VALUES ({self.next_id}, {price}, now(), '{text}')"
        place = self.dice.randrange(len(self.ids))
        if kind == "DELETE":
            self.ids[place], self.ids[-1] = self.ids[-1], self.ids[place]
            return f"DELETE FROM {self.name} WHERE id = {self.ids.pop()}"
        more = "".join(f", more{number} = '{text}'" for number in range(1, self.columns + 1))
        return f"UPDATE {self.name} SET price = {price}, note = '{text}'{more} WHERE id = {self.ids[place]}"


@contextmanager
def changing(*tables: Orders) -> Iterator[None]:
    """Change the tables again and again meanwhile; what goes wrong with that is raised at the end.

    A pause between two batches leaves the source connector time to keep up.
    """

    def change() -> None:
        for table in tables:
            table.change()

    with repeating(change, 0.1):
        yield


def changes(bootstrap: str, topic: str) -> list[Change]:
    """Return the committed changes in the topic's order; the tombstones behind deletions are left out."""
    return [json.loads(each)["payload"] for each in values(bootstrap, topic) if each is not None]


def kinds(found: list[Change]) -> Counter[str]:
    return Counter(change["op"] for change in found)


def await_changes(bootstrap: str, topic: str, worker: WorkerProcess, *tables: Orders) -> list[Change]:
    """Wait for all changes of the tables and return the topic's; each is there once, and no other one."""
    expected = sum((table.changes for table in tables), Counter[str]())

    def found() -> list[Change]:
        seen = changes(bootstrap, topic)
        return seen if without_reads(seen).total() >= expected.total() else []

    seen = wait_for(found, 180, lambda: f"{expected} in {topic}\n{worker.log[-3000:]}", pause=1)
    assert without_reads(seen) == expected, f"{without_reads(seen)} in the topic, {expected} in the table"
    twice = [place for place, count in Counter(places(seen)).items() if count > 1]
    assert twice == [], f"more than once: {twice[:10]}"
    return seen


def without_reads(found: list[Change]) -> Counter[str]:
    """Return the numbers of changes by kind, without rows of snapshots."""
    counts = kinds(found)
    del counts["r"]
    return counts


def reads(found: list[Change]) -> Counter[int]:
    """Return how many times snapshots have read each row, by the rows' ids."""
    return Counter(change["after"]["id"] for change in found if change["op"] == "r")


def await_reads(bootstrap: str, topic: str, worker: WorkerProcess, count: int) -> None:
    """Wait until so many rows of snapshots are in the topic."""
    wait_for(
        lambda: kinds(changes(bootstrap, topic))["r"] >= count, 120, lambda: f"rows\n{worker.log[-3000:]}", pause=0.5
    )


def replayed(found: list[Change]) -> dict[int, str]:
    """Return the notes of the rows by their ids after all changes."""
    rows: dict[int, str] = {}
    for change in found:
        if change["op"] == "d":
            rows.pop(change["before"]["id"], None)
        else:
            rows[change["after"]["id"]] = change["after"]["note"]
    return rows


def rows(database: Postgres, table: str) -> list[list[str]]:
    """Return a table's rows; a column that was added later may be missing from the copy for a while."""
    more = ", ".join(f"to_jsonb(t) ->> '{name}'" for name in ("more1", "more2"))
    return database.sql(f"SELECT id, price, note, {more}, at, day FROM {table} t ORDER BY id")


def await_copy(
    database: Postgres,
    worker: WorkerProcess,
    table: str = "orders",
    copy: str = "orders_copy",
    into: Postgres | None = None,
) -> None:
    """Wait until the copy, by default in the same database, has the table's rows."""
    original, target = rows(database, table), into or database
    wait_for(lambda: target.has_table(copy), 60, lambda: worker.log[-3000:])
    wait_for(lambda: rows(target, copy) == original, 180, lambda: f"the copy\n{worker.log[-3000:]}", pause=1)


def running(worker: WorkerProcess, connector: str) -> None:
    """Wait until the connector and its task run; restart what has failed, as an operator does."""

    def runs() -> bool:
        status = worker.status(connector)
        states = [each["state"] for each in (status["connector"], *status["tasks"])] if status else []
        if states == ["RUNNING", "RUNNING"]:
            return True
        if "FAILED" in states:
            worker.rest.post(f"/connectors/{connector}/restart?includeTasks=true&onlyFailed=true")
        return False

    wait_for(runs, 120, lambda: str(worker.status(connector)), pause=1)


def kill_tasks(worker: WorkerProcess, database: Postgres) -> None:
    """Kill the processes of the tasks, each of which has the task's JVM in it."""
    kill_all(wait_for(worker.task_processes, 90, "a task's process"))


def kill_database(worker: WorkerProcess, database: Postgres) -> None:
    database.kill()
    database.start()


def kill_worker(worker: WorkerProcess, database: Postgres) -> None:
    worker.kill()
    worker.start()
