# SPDX-License-Identifier: Apache-2.0
"""Tables that are altered under change data capture behave as docs/guide/change-data-capture.md says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.faults.debezium import await_reads, captured_postgres, changes, install, running, sink, source
from tests.support.polling import wait_for
from tests.support.postgres import Postgres
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with captured_postgres() as postgres:
        yield postgres


@pytest.fixture(scope="module")
def worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    properties = {"group.id": "headrace-altered", "plugin.path": str(install(tmp_path_factory.mktemp("plugins")))}
    with WorkerProcess(tmp_path_factory.mktemp("altered"), broker.bootstrap_servers, **properties) as worker:
        yield worker


@dataclass
class Pipeline:
    """Table `orders`, with a row, and its copy."""

    worker: WorkerProcess
    database: Postgres
    bootstrap: str
    name: str

    def types(self, column: str) -> list[list[str]]:
        """Return the type and length of the copy's column."""
        return self.database.sql(
            "SELECT data_type, coalesce(character_maximum_length::text, '') FROM information_schema.columns "
            f"WHERE table_name = 'orders_copy' AND column_name = '{column}'"
        )

    def await_copy(self, columns: str, rows: list[list[str]]) -> None:
        def copied() -> list[list[str]]:
            there = self.database.has_table("orders_copy")
            return self.database.sql(f"SELECT {columns} FROM orders_copy ORDER BY id") if there else []

        wait_for(lambda: copied() == rows, 120, lambda: f"{rows}: {copied()}\n{self.worker.log[-3000:]}", pause=0.5)

    def last_change(self) -> dict[str, Any]:
        return changes(self.bootstrap, f"{self.name}.public.orders")[-1]

    def await_failure(self) -> str:
        self.worker.wait_for_tasks(f"{self.name}-sink", "FAILED")
        return str(self.worker.status(f"{self.name}-sink")["tasks"][0]["trace"])


@pytest.fixture
def pipeline(worker: WorkerProcess, database: Postgres, broker: EmbeddedBroker, unique: str) -> Iterator[Pipeline]:
    database.sql("""
        DROP TABLE IF EXISTS orders, orders_copy;
        CREATE TABLE orders (
            id int PRIMARY KEY, amount int, code varchar(5), note text, must text NOT NULL
        );
        INSERT INTO orders VALUES (1, 10, 'one', 'first', 'm')""")
    made = Pipeline(worker, database, broker.bootstrap_servers, unique)
    worker.create(f"{unique}-source", **source(database, unique))
    await_reads(made.bootstrap, f"{unique}.public.orders", worker, 1)
    worker.create(f"{unique}-sink", **sink(database, f"{unique}.public.orders"))
    made.await_copy("id, amount, code, note", [["1", "10", "one", "first"]])
    yield made
    for name in ("source", "sink"):
        worker.delete(f"{unique}-{name}")


def test_a_column_is_dropped(pipeline: Pipeline) -> None:
    """The copy keeps it, with NULL in new rows. One that must not be NULL fails the sink until that is lifted."""
    pipeline.database.sql("ALTER TABLE orders DROP COLUMN note; INSERT INTO orders VALUES (2, 20, 'two', 'm')")
    pipeline.await_copy("id, amount, code, note", [["1", "10", "one", "first"], ["2", "20", "two", ""]])
    assert "note" not in pipeline.last_change()["after"]
    pipeline.database.sql("UPDATE orders SET amount = 11 WHERE id = 1")
    pipeline.await_copy("id, amount, code, note", [["1", "11", "one", "first"], ["2", "20", "two", ""]])

    pipeline.database.sql("ALTER TABLE orders DROP COLUMN must; INSERT INTO orders VALUES (3, 30, 'three')")
    assert "must" in pipeline.await_failure()
    pipeline.database.sql("ALTER TABLE orders_copy ALTER COLUMN must DROP NOT NULL")
    running(pipeline.worker, f"{pipeline.name}-sink")
    pipeline.await_copy("id, amount, must", [["1", "11", "m"], ["2", "20", "m"], ["3", "30", ""]])


def test_types_are_widened(pipeline: Pipeline) -> None:
    """Texts of any length fit. An int of the copy stays one: the sink fails at a value that is too large for it."""
    assert (pipeline.types("amount"), pipeline.types("code")) == ([["integer", ""]], [["text", ""]])
    pipeline.database.sql("""
        ALTER TABLE orders ALTER COLUMN code TYPE varchar(40), ALTER COLUMN amount TYPE bigint;
        INSERT INTO orders VALUES (2, 20, 'longer than five', '', 'm')""")
    pipeline.await_copy("id, amount, code", [["1", "10", "one"], ["2", "20", "longer than five"]])
    assert pipeline.types("amount") == [["integer", ""]]

    pipeline.database.sql("INSERT INTO orders VALUES (3, 5000000000, 'three', '', 'm')")
    assert "out of range" in pipeline.await_failure()
    pipeline.database.sql("ALTER TABLE orders_copy ALTER COLUMN amount TYPE bigint")
    running(pipeline.worker, f"{pipeline.name}-sink")
    pipeline.await_copy("id, amount", [["1", "10"], ["2", "20"], ["3", "5000000000"]])
