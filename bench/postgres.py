# SPDX-License-Identifier: Apache-2.0
"""A table of PostgreSQL's into a topic, exactly once, by one task and by four, on a cluster of two executors."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from bench.engines import Engine
from bench.topics import await_growth, count_records, temporary_topic
from tests.support.postgres import Postgres, fetched_driver, found_postgres
from tests.support.standalone_cluster import SMALL, StandaloneCluster

ROWS = 1_000_000
TASKS = 4
_TABLE = "orders"
_CORES = 4
"""Of each executor: a task has one for itself, and its queries need another one."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Records/s after the first transaction, and seconds from the request to the last record."""

    one_task: float
    one_task_s: float
    four_tasks: float
    four_tasks_s: float

    @property
    def scaling(self) -> float:
        return self.four_tasks / self.one_task


def rates(engine: Engine) -> Rates:
    """A first connector, which is not measured, lets the JVMs compile."""
    engine.directory.mkdir(parents=True, exist_ok=True)
    # Executors of tests never compile for speed.
    cores = {"spark.executor.cores": str(_CORES), "spark.executor.extraJavaOptions": "", "spark.jars": fetched_driver()}
    with Postgres(found_postgres()) as postgres, StandaloneCluster(engine.directory, 2, _CORES) as cluster:
        _fill(postgres)
        engine.more |= {"spark.master": cluster.url, **SMALL, **cores}
        with engine:
            _run(engine, postgres, 1)
            one, one_s = _run(engine, postgres, 1)
            four, four_s = _run(engine, postgres, TASKS)
    return Rates(one, one_s, four, four_s)


def _fill(postgres: Postgres) -> None:
    postgres.sql(f"""
        CREATE TABLE {_TABLE} (id bigint PRIMARY KEY, customer int, region text, changed timestamp, note text);
        INSERT INTO {_TABLE}
        SELECT n, n % 1000, 'region-' || n % 7, timestamp '2026-01-01' + n * interval '1 second', repeat('x', 50)
        FROM generate_series(1, {ROWS}) n""")
    postgres.sql(f"ANALYZE {_TABLE}")


def _run(engine: Engine, postgres: Postgres, tasks: int) -> tuple[float, float]:
    name = f"postgres-{uuid.uuid4().hex[:8]}"
    config = {
        "connector.class": "SparkTableSource",
        "tasks.max": str(tasks),
        "topic": name,
        "spark.format": "jdbc",
        "table": _TABLE,
        "mode": "incrementing",
        "incrementing.column": "id",
        "batch.max.rows": "20000",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "poll.interval.ms": "60000",
        **postgres.options(),
    }
    if tasks > 1:
        config |= {"partition.column": "id", "partition.count": str(tasks)}
    rest = engine.rest
    with temporary_topic(engine.bootstrap_servers, name):
        sent = rest.create(name, config)
        try:
            growth = await_growth(engine.bootstrap_servers, name, 300, lambda: rest.tasks_running(name), ROWS)
        finally:
            rest.delete(name)
        counted = count_records(engine.bootstrap_servers, name, ROWS)
    if counted != ROWS:
        raise RuntimeError(
            f"{counted} records of {ROWS} rows, and no more for a while: perhaps a task is being started anew"
        )
    return (ROWS - growth.first_records) / (growth.last - growth.first), growth.last - sent
