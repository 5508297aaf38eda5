# SPDX-License-Identifier: Apache-2.0
"""SparkTableSource over JDBC: a real PostgreSQL into a real topic."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.postgres import Postgres
from tests.support.topics import committed_offsets, values, wait_for_values
from tests.support.worker_process import WorkerProcess, mistakes

SOURCE = {
    "connector.class": "SparkTableSource",
    "spark.format": "jdbc",
    "tasks.max": "1",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "poll.interval.ms": "200",
}


@pytest.fixture
def table(unique: str, postgres: Postgres) -> Iterator[str]:
    name = "orders_" + unique.replace("-", "_")
    postgres.sql(f"""
        CREATE TABLE {name} (
          id bigint PRIMARY KEY, price numeric(12,2), changed timestamp, seen timestamptz, region text, note jsonb,
          uid uuid DEFAULT gen_random_uuid()
        )""")
    yield name
    postgres.sql(f"DROP TABLE {name}")


def create(worker: WorkerProcess, postgres: Postgres, name: str, table: str, **more: str) -> None:
    config = SOURCE | postgres.options() | {"topic": name, "table": table}
    worker.create(name, **config | {key.replace("_", "."): value for key, value in more.items()})


def add(postgres: Postgres, table: str, first: int, last: int, changed: str = "now() AT TIME ZONE 'UTC'") -> None:
    postgres.sql(f"""
        INSERT INTO {table}
        SELECT n, n / 4.0, {changed}, now(), CASE n % 2 WHEN 0 THEN 'eu' ELSE 'us' END, '{{"a": 1}}'
        FROM generate_series({first}, {last}) n""")


def ids(broker: EmbeddedBroker, topic: str, count: int) -> list[int]:
    found = wait_for_values(broker.bootstrap_servers, topic, count)
    assert len(found) == count
    return [json.loads(value or b"null")["id"] for value in found]


def offsets(worker: WorkerProcess, broker: EmbeddedBroker, connector: str) -> dict[str, Any]:
    return committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], connector)


def test_rows_and_those_that_come_to_them(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    add(postgres, table, 1, 1000)
    create(jdbc_worker, postgres, unique, table, mode="incrementing", incrementing_column="id", batch_max_rows="300")
    assert ids(broker, unique, 1000) == list(range(1, 1001))
    first = json.loads(values(broker.bootstrap_servers, unique)[0] or b"")
    assert (first["id"], first["region"], first["note"]) == (1, "us", '{"a": 1}')
    add(postgres, table, 1001, 1010)
    assert ids(broker, unique, 1010)[1000:] == list(range(1001, 1011))
    assert offsets(jdbc_worker, broker, unique) == {json.dumps({"table": table}): {"incrementing": 1010}}
    jdbc_worker.delete(unique)


def test_updates_come_by_their_timestamp_and_late_ones_within_the_delay(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    add(postgres, table, 1, 20)
    more = {"mode": "timestamp+incrementing", "timestamp_column": "changed", "incrementing_column": "id"}
    create(jdbc_worker, postgres, unique, table, timestamp_delay_ms="3000", batch_max_rows="6", **more)
    # Two rows that are written late: their timestamps are older than some that are there.
    add(postgres, table, 21, 22, changed="now() AT TIME ZONE 'UTC' - interval '1 second'")
    assert sorted(ids(broker, unique, 22)) == list(range(1, 23))
    postgres.sql(f"UPDATE {table} SET region = 'asia', changed = now() AT TIME ZONE 'UTC' WHERE id IN (3, 5)")
    assert ids(broker, unique, 24)[22:] == [3, 5]
    jdbc_worker.delete(unique)


def test_a_time_that_no_clock_shows_is_kept(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    """Half past two does not exist where clocks are set forward then; a column without a zone can hold it."""
    times = ["2024-03-31 02:10:00.000001", "2024-03-31 02:30:00.000002", "2024-03-31 03:05:00.000003"]
    for number, time in enumerate(times[:2], 1):
        add(postgres, table, number, number, changed=f"timestamp '{time}'")
    create(jdbc_worker, postgres, unique, table, mode="timestamp", timestamp_column="changed")
    assert ids(broker, unique, 2) == [1, 2]
    assert list(offsets(jdbc_worker, broker, unique).values()) == [{"timestamp": "2024-03-31T02:30:00.000002"}]
    add(postgres, table, 3, 3, changed=f"timestamp '{times[2]}'")
    assert ids(broker, unique, 3) == [1, 2, 3]
    jdbc_worker.delete(unique)


def test_a_timestamp_with_a_zone_a_decimal_and_a_uuid_grow_too(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    add(postgres, table, 1, 5)
    postgres.sql(f"UPDATE {table} SET seen = timestamptz '2024-01-01 00:00:00.123456+02' + id * interval '1 us'")
    create(
        jdbc_worker, postgres, unique, table, mode="timestamp+incrementing", timestamp_column="seen",
        incrementing_column="price", where="id > 1", key_columns="id,region",
    )  # fmt: skip
    assert ids(broker, unique, 4) == [2, 3, 4, 5]
    last = {"timestamp": "2023-12-31T22:00:00.123461Z", "incrementing": "1.25"}
    assert list(offsets(jdbc_worker, broker, unique).values()) == [last]
    jdbc_worker.delete(unique)
    uuids = f"{unique}-uuids"
    create(jdbc_worker, postgres, uuids, table, mode="incrementing", incrementing_column="uid", query_max_rows="2")
    assert ids(broker, uuids, 5) == [int(id) for (id,) in postgres.sql(f"SELECT id FROM {table} ORDER BY uid")]
    jdbc_worker.delete(uuids)


def test_an_idle_table_costs_the_database_a_look_at_an_index(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    add(postgres, table, 1, 50_000, changed="now() AT TIME ZONE 'UTC' - (60000 - n) * interval '1 second'")
    postgres.sql(f"CREATE INDEX ON {table} (changed, id); ANALYZE {table}")
    more = {"mode": "timestamp+incrementing", "timestamp_column": "changed", "incrementing_column": "id"}
    create(jdbc_worker, postgres, unique, table, query_max_rows="1000", **more)
    wait_for(lambda: jdbc_worker.task_states(unique) == ["RUNNING"], 60, "a running task")
    wait_for_values(broker.bootstrap_servers, unique, 50_000, 90)
    seen = len(_asked(postgres, table))
    wait_for(lambda: len(_asked(postgres, table)) > seen + 2, 30, "more queries")
    asked = _asked(postgres, table)[-1]
    # Condition, order and limit are the database's work ...
    assert re.search(r'"changed" >= .* ORDER BY "changed", "id" LIMIT 1000\)', asked)
    # ... and it has next to none.
    plan = "\n".join(row[0] for row in postgres.sql(f"EXPLAIN (ANALYZE, BUFFERS) {asked}"))
    assert "Index Scan" in plan
    pages = sum(map(int, re.findall(r"(?:hit|read)=(\d+)", plan.split("Planning")[0].splitlines()[1])))
    assert pages < 30, plan
    jdbc_worker.delete(unique)


def test_kills_of_the_task_and_of_the_database_leave_no_gap_and_no_double(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    count = 20_000
    add(postgres, table, 1, count)
    more = {"mode": "incrementing", "incrementing_column": "id"}
    create(jdbc_worker, postgres, unique, table, batch_max_rows="500", query_max_rows="3000", **more)
    wait_for_values(broker.bootstrap_servers, unique, 1_500)
    pid = jdbc_worker.task_process().pid
    jdbc_worker.task_process().kill()
    wait_for(lambda: jdbc_worker.task_process().pid != pid, 60, "another process")
    before = len(values(broker.bootstrap_servers, unique))
    wait_for_values(broker.bootstrap_servers, unique, min(before + 1_000, count))
    postgres.kill()
    postgres.start()
    assert ids(broker, unique, count) == list(range(1, count + 1))
    add(postgres, table, count + 1, count + 1)
    assert ids(broker, unique, count + 1)[-1] == count + 1
    assert list(offsets(jdbc_worker, broker, unique).values()) == [{"incrementing": count + 1}]
    jdbc_worker.delete(unique)


def test_a_database_that_stays_away_fails_the_task_in_time(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    add(postgres, table, 1, 3)
    more = {"mode": "incrementing", "incrementing_column": "id", "retry_timeout_ms": "2000"}
    create(jdbc_worker, postgres, unique, table, **more)
    assert ids(broker, unique, 3) == [1, 2, 3]
    postgres.kill()
    try:
        jdbc_worker.wait_for_tasks(unique, "FAILED")
    finally:
        postgres.start()
    trace = jdbc_worker.status(unique)["tasks"][0]["trace"]
    assert re.search(rf"Tried for \d+ s \(retry.timeout.ms\), but table {table} cannot be read: .*refused", trace)
    add(postgres, table, 4, 4)
    assert jdbc_worker.rest.post(f"/connectors/{unique}/tasks/0/restart").status_code == 204
    assert ids(broker, unique, 4) == [1, 2, 3, 4]
    jdbc_worker.delete(unique)


def test_mistakes_are_reported_before_the_connector_is_created_and_fail_a_task_at_once(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    more = {"mode": "incrementing", "incrementing.column": "id"}
    config = SOURCE | postgres.options() | {"topic": unique, "table": table} | more
    for change, expected in (
        ({"table": "nosuch"}, 'relation "nosuch" does not exist'),
        ({"where": "region = "}, "syntax error"),
        ({"incrementing.column": "nr"}, "the table has no such column; it has id, price"),
        ({"incrementing.column": "note"}, None),  # text grows as the database has it
        ({"spark.option.user": "nobody"}, 'role "nobody" does not exist'),
        ({"spark.option.url": "jdbc:mysql://127.0.0.1/x"}, "spark.jars.packages"),
    ):
        if expected is None:
            assert mistakes(jdbc_worker, config | change, wait=False) == {}
        else:
            found = mistakes(jdbc_worker, config | change)
            assert list(found) == list(change) and expected in found[next(iter(change))][0], found
    create(jdbc_worker, postgres, unique, table, mode="incrementing", incrementing_column="id")
    jdbc_worker.wait_for_tasks(unique)
    postgres.sql(f"ALTER TABLE {table} RENAME TO {table}_gone")
    jdbc_worker.wait_for_tasks(unique, "FAILED")
    assert f'relation "{table}" does not exist' in jdbc_worker.status(unique)["tasks"][0]["trace"]
    jdbc_worker.delete(unique)
    postgres.sql(f"ALTER TABLE {table}_gone RENAME TO {table}")


def test_tasks_share_a_table_by_remainder(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    add(postgres, table, -50, 49)
    more = {"mode": "incrementing", "incrementing_column": "id", "partition_column": "id", "partition_count": "4"}
    create(jdbc_worker, postgres, unique, table, tasks_max="2", **more)
    assert sorted(ids(broker, unique, 100)) == list(range(-50, 50))
    assert sorted(offset["incrementing"] for offset in offsets(jdbc_worker, broker, unique).values()) == [
        46,
        47,
        48,
        49,
    ]
    jdbc_worker.delete(unique)


def _asked(postgres: Postgres, table: str) -> list[str]:
    """The queries for rows that the database was asked."""
    statements = re.findall(rf"execute [^:]+: (SELECT .*FROM {table} WHERE .*)", postgres.log)
    return [statement for statement in statements if "WHERE 1=0" not in statement]
