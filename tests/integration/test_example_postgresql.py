# SPDX-License-Identifier: Apache-2.0
"""examples/postgresql-to-kafka runs as it is, but for where it reads and writes."""

from __future__ import annotations

import json

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.postgres import DRIVER, Postgres
from tests.support.topics import read_committed
from tests.support.worker_process import ROOT, WorkerProcess

EXAMPLE = ROOT / "examples" / "postgresql-to-kafka"


def test_orders_and_their_changes(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str
) -> None:
    example = json.loads((EXAMPLE / "connector.json").read_text())
    config = {**example["config"], "topic": unique, "spark.option.url": postgres.jdbc_url}
    assert config.keys() == example["config"].keys()
    postgres.sql((EXAMPLE / "orders.sql").read_text())
    jdbc_worker.create(unique, **config)
    jdbc_worker.wait_for_tasks(unique, tasks=2)
    _wait_for(jdbc_worker, broker, unique, [(1, 12.5), (2, 3.99), (3, 100)])
    postgres.sql("UPDATE orders SET amount = 15, changed_at = now() WHERE id = 1")
    _wait_for(jdbc_worker, broker, unique, [(1, 12.5), (1, 15), (2, 3.99), (3, 100)])
    jdbc_worker.delete(unique)
    postgres.sql("DROP TABLE orders")


def test_the_readme_names_the_driver_and_the_columns() -> None:
    readme = (EXAMPLE / "README.md").read_text()
    assert f"spark.jars.packages={DRIVER}'" in readme
    sample = next(line for line in readme.splitlines() if line.startswith('{"id"'))
    table = (EXAMPLE / "orders.sql").read_text()
    assert all(f"\n  {column} " in table for column in json.loads(sample))


def _wait_for(worker: WorkerProcess, broker: EmbeddedBroker, topic: str, orders: list[tuple[int, float]]) -> None:
    """Key and amount of each record, whichever task brought it first."""
    seen: list[tuple[int, float]] = []

    def all_there() -> bool:
        records = read_committed(broker.bootstrap_servers, topic)
        seen[:] = sorted((int.from_bytes(r.key or b""), json.loads(r.value or b"{}")["amount"]) for r in records)
        return len(seen) >= len(orders)

    wait_for(all_there, 60, lambda: f"{orders}: there are {seen}; {worker.status(topic)}")
    assert seen == orders
