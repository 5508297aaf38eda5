# SPDX-License-Identifier: Apache-2.0
"""Snapshots that are cut off: Debezium begins anew, skips rows or stands still, in Java Connect as in headrace.

docs/guide/change-data-capture.md says what to do, which is tested here, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import httpx2
import psutil
import pytest

from bench.engines import Engine, Headrace
from bench.java_connect import fetch
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.faults.debezium import (
    captured_postgres,
    changes,
    execute_snapshot,
    install,
    kinds,
    reads,
    replayed,
    source,
    without_reads,
)
from tests.integration.quick_java import QuickJavaConnect
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import Postgres

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
_ROWS: Final = 4_000
_END_A_STATEMENT: Final = """
DO $$
DECLARE connector integer;
BEGIN
  LOOP
    EXIT WHEN (SELECT count(*) FROM debezium_signal) > 20;
    PERFORM pg_sleep(0.01);
  END LOOP;
  LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE;
  LOOP
    PERFORM pg_stat_clear_snapshot();
    SELECT pid INTO connector FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"{table}"%';
    EXIT WHEN connector IS NOT NULL;
    PERFORM pg_sleep(0.01);
  END LOOP;
  PERFORM {end}(connector);
END $$"""
"""Has the connector's next statement on a table wait when some chunks are read, and ends it."""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("plugins"))


@pytest.fixture
def database() -> Iterator[Postgres]:
    with captured_postgres() as postgres:
        postgres.sql(f"""
            CREATE TABLE orders (id bigint PRIMARY KEY, note text);
            INSERT INTO orders SELECT n, 'row ' || n FROM generate_series(0, {_ROWS - 1}) n""")
        yield postgres


@pytest.fixture(scope="module", params=[Headrace, QuickJavaConnect], ids=lambda kind: kind.name)
def engine(
    request: pytest.FixtureRequest, broker: EmbeddedBroker, plugins: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    or_skip(fetch)
    kind: type[Engine] = request.param
    directory = tmp_path_factory.mktemp(kind.name)
    engine = kind(broker.bootstrap_servers, directory, group=f"failed-chunk-{kind.name}")
    engine.more |= {"plugin.path": str(plugins)}
    with engine:
        yield engine


def test_rows_behind_a_failed_chunk_are_skipped_until_a_snapshot_is_requested_again(
    engine: Engine, database: Postgres, broker: EmbeddedBroker, unique: str
) -> None:
    topic, bootstrap = f"{unique}.public.orders", broker.bootstrap_servers
    before = len(log(engine))
    begin_snapshot(engine, database, unique, _END_A_STATEMENT.format(table="orders", end="pg_cancel_backend"))
    skipped = "Snapshotting of table public.orders failed. Skipping it"
    wait_for(lambda: skipped in log(engine)[before:], 60, lambda: log(engine)[-3000:])
    restart(engine, unique)
    database.sql(f"INSERT INTO orders VALUES ({_ROWS}, 'new')")
    wait_for(lambda: kinds(changes(bootstrap, topic))["c"] == 1, 60, "a later change", pause=0.2)
    read = kinds(changes(bootstrap, topic))["r"]
    assert 0 < read < _ROWS, f"{read} rows were read"

    execute_snapshot(database, "public.orders")
    wait_for(lambda: len(replayed(changes(bootstrap, topic))) == _ROWS + 1, 60, "all rows", pause=0.5)
    engine.rest.remove(unique)


def test_a_snapshot_whose_mark_cannot_be_written_continues_when_the_task_is_restarted(
    engine: Engine, database: Postgres, broker: EmbeddedBroker, unique: str
) -> None:
    topic, bootstrap = f"{unique}.public.orders", broker.bootstrap_servers
    before = len(log(engine))
    begin_snapshot(
        engine, database, unique, _END_A_STATEMENT.format(table="debezium_signal", end="pg_terminate_backend")
    )
    wait_for(lambda: "Action snapshot-window-close failed" in log(engine)[before:], 60, lambda: log(engine)[-3000:])
    marks = database.sql("SELECT count(*) FROM debezium_signal")
    database.sql(f"INSERT INTO orders VALUES ({_ROWS}, 'new')")
    wait_for(lambda: kinds(changes(bootstrap, topic))["c"] == 1, 60, "a later change", pause=0.2)
    read = kinds(changes(bootstrap, topic))["r"]
    assert 0 < read < _ROWS, f"{read} rows were read"
    assert database.sql("SELECT count(*) FROM debezium_signal") == marks, "it reads on"

    restart(engine, unique)
    wait_for(lambda: len(replayed(changes(bootstrap, topic))) == _ROWS + 1, 60, "all rows", pause=0.5)
    engine.rest.remove(unique)


def test_a_first_snapshot_that_is_cut_off_begins_anew_and_misses_what_was_deleted_before(
    engine: Engine, database: Postgres, broker: EmbeddedBroker, unique: str
) -> None:
    topic, bootstrap = f"{unique}.public.orders", broker.bootstrap_servers
    small = {"max.batch.size": "20", "max.queue.size": "40", "producer.override.transaction.timeout.ms": "10000"}
    engine.rest.create(unique, source(database, unique, **small))
    wait_for(lambda: reads(changes(bootstrap, topic)).total() > _ROWS // 4, 120, lambda: log(engine)[-3000:])
    psutil.Process(engine.pid).kill()
    engine.stop()
    read = len(reads(changes(bootstrap, topic)))
    assert read < _ROWS - 500, f"{read} rows were read"
    database.sql("DELETE FROM orders WHERE id = 0")

    engine.start()
    wait_for(lambda: len(reads(changes(bootstrap, topic))) == _ROWS, 120, lambda: log(engine)[-3000:], pause=0.5)
    database.sql(f"INSERT INTO orders VALUES ({_ROWS}, 'new')")
    wait_for(lambda: kinds(changes(bootstrap, topic))["c"] == 1, 60, "a later change", pause=0.2)
    found = changes(bootstrap, topic)
    assert without_reads(found) == {"c": 1}
    assert (reads(found)[0], reads(found)[1], reads(found)[_ROWS - 1]) == (1, 2, 1)
    engine.rest.remove(unique)


def begin_snapshot(engine: Engine, database: Postgres, name: str, ending: str) -> None:
    """Create the connector and request a snapshot, of which the database itself ends a statement by ``ending``.

    Another process would come too late on a busy machine: the snapshot takes a second.
    """
    config = source(database, name, **{"snapshot.mode": "no_data", "incremental.snapshot.chunk.size": "40"})
    engine.rest.create(name, config)
    await_task(engine, name)
    wait_for(lambda: database.sql("SELECT 1 FROM pg_replication_slots WHERE active"), 60, "the connector's slot")
    with ThreadPoolExecutor(1) as beside:
        ended = beside.submit(database.sql, ending)
        waits = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%DECLARE connector%' AND pid <> pg_backend_pid()"
        wait_for(lambda: database.sql(waits), 60, "the statement that waits for chunks")
        execute_snapshot(database, "public.orders")
        ended.result(60)


def restart(engine: Engine, name: str) -> None:
    httpx2.post(f"{engine.rest.url}/connectors/{name}/tasks/0/restart").raise_for_status()
    await_task(engine, name)


def log(engine: Engine) -> str:
    return (engine.directory / "worker.log").read_text(errors="replace")


def await_task(engine: Engine, name: str) -> None:
    def status() -> str:
        return json.dumps(engine.rest.get(f"/connectors/{name}/status"))

    wait_for(lambda: engine.rest.tasks_running(name) == 1, 60, status)
