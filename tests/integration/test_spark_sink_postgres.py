# SPDX-License-Identifier: Apache-2.0
"""SparkSink into a real PostgreSQL: each record once, in one transaction with what the database remembers of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.topic_admin import TopicSpec
from tests.integration.refused_sinks import refusal
from tests.support.polling import wait_for
from tests.support.postgres import Postgres
from tests.support.sinks import make_topic, send, wait_for_committed
from tests.support.spark_sinks import Numbers, change_offsets, create_spark_sink, kill_task
from tests.support.topics import replace_topic
from tests.support.worker_process import WorkerProcess

STRING = "org.apache.kafka.connect.storage.StringConverter"
KEYED = {"insert.mode": "upsert", "pk.fields": "id", "value.schema": "name STRING, price DECIMAL(10,2)"}


@pytest.fixture
def worker(jdbc_worker: WorkerProcess) -> WorkerProcess:
    """The one that has the driver."""
    return jdbc_worker


@pytest.fixture
def table(unique: str) -> str:
    return "rows_" + unique.replace("-", "_")


def create(worker: WorkerProcess, postgres: Postgres, name: str, table: str, **config: str) -> None:
    create_spark_sink(worker, name, config.pop("topics", name), **target(postgres, table), **config)


def target(postgres: Postgres, table: str) -> dict[str, str]:
    return {"spark.format": "jdbc", "table": table, "retry.backoff.ms": "200", **postgres.options()}


def wait_for_rows(
    worker: WorkerProcess, postgres: Postgres, name: str, select: str, rows: Sequence[Sequence[object]]
) -> None:
    wanted = [[str(value) for value in row] for row in rows]
    wait_for(
        lambda: postgres.sql(select) == wanted,
        60,
        lambda: f"{wanted[-3:]}: {postgres.sql(select)[-3:]}; {worker.status(name)}\n{worker.log[-3000:]}",
    )


def item(name: str, price: str) -> bytes:
    return json.dumps({"name": name, "price": price}).encode()


def leftovers(postgres: Postgres) -> list[list[str]]:
    return postgres.sql("SELECT tablename FROM pg_tables WHERE tablename LIKE 'headrace\\_%\\_%'")


def test_rows_are_inserted_with_the_types_of_the_table(
    worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    bootstrap = broker.bootstrap_servers
    postgres.sql(f'CREATE TABLE {table} (n int, "Name" varchar(20), doc jsonb, at timestamptz, kafka_offset bigint)')
    make_topic(bootstrap, unique)
    values = [
        json.dumps({"n": str(n), "Name": f"n{n}", "doc": {"a": [n]}, "at": "2026-01-02T03:04:05Z"}) for n in range(30)
    ]
    send(bootstrap, unique, [value.encode() for value in values])
    schema = "n STRING, Name STRING, doc STRUCT<a: ARRAY<INT>>, at TIMESTAMP"
    create(worker, postgres, unique, table, **{"value.schema": schema, "include.columns": "offset"})
    select = f"""SELECT n, "Name", doc->'a'->0, at AT TIME ZONE 'UTC', kafka_offset FROM {table} ORDER BY n"""
    wait_for_rows(worker, postgres, unique, select, [(n, f"n{n}", n, "2026-01-02 03:04:05", n) for n in range(30)])
    wait_for_committed(bootstrap, unique, unique, {0: 30})
    assert leftovers(postgres) == [["headrace_offsets"]] or leftovers(postgres) == []
    worker.delete(unique)


def test_the_latest_record_of_each_key_is_its_row_and_a_tombstone_deletes_it(
    worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    bootstrap = broker.bootstrap_servers
    postgres.sql(f"CREATE TABLE {table} (id bigint PRIMARY KEY, name text, price numeric(10,2), kept text DEFAULT 'k')")
    postgres.sql(f"INSERT INTO {table} VALUES (1, 'old', 0, 'mine'), (9, 'gone', 0, 'no')")
    make_topic(bootstrap, unique)
    for key, value in [
        (b"1", item("a", "1.50")),
        (b"2", item("b", "2.00")),
        (b"1", item("c", "3.25")),
        (b"9", None),
        (b"3", item("d", "4")),
        (b"3", None),
        (b"4", None),
        (b"4", item("e", "5")),
    ]:
        send(bootstrap, unique, [value], key=key)
    create(worker, postgres, unique, table, **KEYED)
    select = f"SELECT id, name, price, kept FROM {table} ORDER BY id"
    wait_for_rows(
        worker, postgres, unique, select, [(1, "c", "3.25", "mine"), (2, "b", "2.00", "k"), (4, "e", "5.00", "k")]
    )
    send(bootstrap, unique, [None], key=b"2")
    rows = [(1, "c", "3.25", "mine"), (4, "e", "5.00", "k")]
    wait_for_rows(worker, postgres, unique, select, rows)
    # An operator has all written again.
    assert change_offsets(worker, unique).status_code == 200
    postgres.sql(f"UPDATE {table} SET name = 'spoilt'; DELETE FROM {table} WHERE id = 4")
    worker.rest.put(f"/connectors/{unique}/resume")
    wait_for_rows(worker, postgres, unique, select, rows)
    worker.delete(unique)


def connect(fields: dict[str, Any], payload: dict[str, Any] | None) -> bytes:
    """As JsonConverter has a struct with its schema; texts are types."""
    schemas = [
        {"field": name, **({"type": t} if isinstance(t, str) else t), "optional": True} for name, t in fields.items()
    ]
    return json.dumps({"schema": {"type": "struct", "fields": schemas}, "payload": payload}).encode()


def logical(name: str, type: str, **parameters: str) -> dict[str, Any]:
    return {"type": type, "name": f"org.apache.kafka.connect.data.{name}", "version": 1, "parameters": parameters}


KEY = {"shop": "string", "id": "int64"}
TYPES: dict[str, tuple[str | dict[str, Any], Any, str, str]] = {
    # Of each column: Connect's schema, the value in JSON, the table's type, and what is in the table then.
    "small": ("int8", 7, "smallint", "7"),
    "whole": ("int32", -5, "bigint", "-5"),
    "real": ("double", 0.25, "double precision", "0.25"),
    "yes": ("boolean", True, "boolean", "t"),
    "bytes": ("bytes", "AQI=", "bytea", "\\x0102"),
    "price": (logical("Decimal", "bytes", scale="2"), "MDk=", "numeric(10,2)", "123.45"),
    "exact": (logical("Decimal", "bytes", scale="2"), "MDk=", "numeric", "123.45"),
    "day": (logical("Date", "int32"), 20_000, "date", "2024-10-04"),
    "at": (logical("Timestamp", "int64"), 1_700_000_000_123, "timestamptz", "2023-11-14 22:13:20.123+00"),
    "local": (logical("Timestamp", "int64"), 1_700_000_000_123, "timestamp", "2023-11-14 22:13:20.123"),
    "list": ({"type": "array", "items": {"type": "int32"}}, [1, 2], "int[]", "{1,2}"),
    "names": ({"type": "array", "items": {"type": "string"}}, ["a"], "text[]", "{a}"),
    "map": ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}}, {"n": 3}, "jsonb", '{"n": 3}'),
    "inner": ({"type": "struct", "fields": [{"field": "x", "type": "int32"}]}, {"x": 1}, "jsonb", '{"x": 1}'),
    "uid": ("string", "6ecd8c99-4036-403d-bf84-cf8400f67836", "uuid", "6ecd8c99-4036-403d-bf84-cf8400f67836"),
}


def test_a_topic_that_is_deleted_and_created_again_is_written_from_its_start(
    worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    """Its records have the offsets of others that are written already."""
    bootstrap = broker.bootstrap_servers
    postgres.sql(f"CREATE TABLE {table} (n int)")
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b'{"n":%d}' % n for n in range(20)])
    more = {"value.schema": "n INT", "consumer.override.metadata.max.age.ms": "1000"}
    create(worker, postgres, unique, table, **more)
    select = f"SELECT n FROM {table} ORDER BY n"
    wait_for_rows(worker, postgres, unique, select, [(n,) for n in range(20)])
    wait_for_committed(bootstrap, unique, unique, {0: 20})
    replace_topic(bootstrap, TopicSpec(unique, 1, 1, {}))
    send(bootstrap, unique, [b'{"n":%d}' % n for n in range(20, 35)])
    wait_for_rows(worker, postgres, unique, select, [(n,) for n in range(35)])
    wait_for_committed(bootstrap, unique, unique, {0: 15})
    worker.delete(unique)


def test_values_of_all_types_and_keys_of_two_fields(
    worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    """The second record has a field more, the third none: columns that a record does not have stay as they are."""
    bootstrap = broker.bootstrap_servers
    columns = ", ".join(f'"{name}" {kind}' for name, (_, _, kind, _) in TYPES.items())
    postgres.sql(f"CREATE TABLE {table} (shop text, id int, {columns}, more text, clock time, PRIMARY KEY (shop, id))")
    make_topic(bootstrap, unique)
    fields, values = {n: t[0] for n, t in TYPES.items()}, {n: t[1] for n, t in TYPES.items()}
    keys = [connect(KEY, {"shop": "a", "id": n}) for n in range(4)]
    send(bootstrap, unique, [connect(fields, values), connect(fields, dict.fromkeys(values))], key=keys[0])
    send(bootstrap, unique, [connect(fields, values), connect({"more": "string"}, {"more": "x"})], key=keys[1])
    send(bootstrap, unique, [connect({"whole": "int64"}, {"whole": 1})], key=keys[2])
    send(bootstrap, unique, [None], key=keys[2])
    converters = {f"{what}.converter": "org.apache.kafka.connect.json.JsonConverter" for what in ("key", "value")}
    config = {"insert.mode": "upsert", "pk.fields": "shop,id", **converters}
    create(worker, postgres, unique, table, **config)
    selected = ", ".join(f'"{name}"' for name in TYPES)
    rows = [("a", 0, *[""] * len(TYPES), ""), ("a", 1, *(t[3] for t in TYPES.values()), "x")]
    wait_for_rows(worker, postgres, unique, f"SELECT shop, id, {selected}, more FROM {table} ORDER BY id", rows)
    send(bootstrap, unique, [connect({"clock": logical("Time", "int32")}, {"clock": 3_600_000})], key=keys[3])
    worker.wait_for_tasks(unique, "FAILED")
    expected = f"Column clock of {table} holds times, and records have numbers there (int): convert them before"
    assert expected in worker.status(unique)["tasks"][0]["trace"]
    worker.delete(unique)


def test_a_table_is_made_if_that_is_wanted(
    worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [item("a", "1")], key=b"1")
    message = refusal(worker, unique, unique, **target(postgres, table), **KEYED)
    assert f"There is no table {table}: create it, or set auto.create=true" in message
    create(worker, postgres, unique, table, **KEYED, **{"auto.create": "true"})
    select = f"SELECT id, name, price FROM {table} ORDER BY id"
    wait_for(lambda: postgres.sql(f"SELECT to_regclass('{table}')") == [[table]], 60, lambda: worker.log[-3000:])
    wait_for_rows(worker, postgres, unique, select, [(1, "a", "1.00")])
    send(bootstrap, unique, [item("b", "2")], key=b"1")
    wait_for_rows(worker, postgres, unique, select, [(1, "b", "2.00")])
    worker.delete(unique)


def test_mistakes_are_reported_in_the_databases_words(
    worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    bootstrap = broker.bootstrap_servers
    role = f"{table}_reader"
    postgres.sql(f"""
        CREATE TABLE {table} (id bigint PRIMARY KEY, price numeric(10,2) CHECK (price > 0));
        CREATE ROLE {role} LOGIN; GRANT SELECT, INSERT ON {table} TO {role}""")
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [item("a", "0")], key=b"1")
    place = target(postgres, table)
    message = refusal(worker, unique, unique, **{**place, **KEYED, "pk.fields": "price"})
    assert "Invalid value 'price' for configuration pk.fields: The database says" in message
    assert "no unique or exclusion constraint" in message
    may_not = {**place, **KEYED, "spark.option.user": role}
    assert "may not create tables in its schema" in refusal(worker, unique, unique, **may_not)
    postgres.sql(f"CREATE SCHEMA {role} AUTHORIZATION {role}; ALTER ROLE {role} SET search_path TO {role}, public")
    message = refusal(worker, unique, unique, **may_not)
    assert (
        f"Invalid value '{table}' for configuration table: the database's user lacks UPDATE and DELETE on it" in message
    )
    nowhere = postgres.jdbc_url.replace("/postgres", "/nowhere")
    message = refusal(worker, unique, unique, **{**place, **KEYED, "spark.option.url": nowhere})
    assert 'database "nowhere" does not exist' in message
    # What only records can show.
    create(worker, postgres, f"{unique}-1", table, topics=unique, **KEYED)
    create(worker, postgres, f"{unique}-2", table, topics=unique, **{**KEYED, "value.schema": "price DECIMAL(10,2)"})
    worker.wait_for_tasks(f"{unique}-1", "FAILED")
    assert 'column "name" does not exist' in worker.status(f"{unique}-1")["tasks"][0]["trace"]
    worker.wait_for_tasks(f"{unique}-2", "FAILED")
    assert "violates check constraint" in worker.status(f"{unique}-2")["tasks"][0]["trace"]
    assert postgres.sql(f"SELECT * FROM {table}") == []
    for connector in (f"{unique}-1", f"{unique}-2"):
        worker.delete(connector)


def test_a_database_that_is_away_is_waited_for(
    worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    bootstrap = broker.bootstrap_servers
    postgres.sql(f"CREATE TABLE {table} (n int)")
    make_topic(bootstrap, unique)
    config = {"value.schema": "n INT"}
    create(worker, postgres, unique, table, **config, **{"max.retries": "-1"})
    send(bootstrap, unique, [b'{"n":1}'])
    wait_for_rows(worker, postgres, unique, f"SELECT n FROM {table}", [(1,)])
    postgres.kill()
    send(bootstrap, unique, [b'{"n":2}'])
    wait_for(lambda: "put failed" in worker.log, 60, lambda: f"a line of the log: {worker.log[-3000:]}")
    create(worker, postgres, f"{unique}-2", table, topics=unique, **config, **{"max.retries": "2"})
    worker.wait_for_tasks(f"{unique}-2", "FAILED")
    assert "Given up after 2 retries" in worker.status(f"{unique}-2")["tasks"][0]["trace"]
    worker.delete(f"{unique}-2")
    assert worker.task_states(unique) == ["RUNNING"]
    postgres.start()
    wait_for_rows(worker, postgres, unique, f"SELECT n FROM {table} ORDER BY n", [(1,), (2,)])
    worker.delete(unique)


@pytest.mark.parametrize("moment", ["staging table", "rows in it", "rows", "offsets"])
def test_the_tasks_process_is_killed(
    worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str, moment: str
) -> None:
    """Between the batch's staging table, its rows, the transaction, and the commit of the group's offsets."""
    bootstrap = broker.bootstrap_servers
    postgres.sql(f"CREATE TABLE {table} (n bigint, kafka_partition int, kafka_offset bigint)")
    make_topic(bootstrap, unique, 2)
    numbers = Numbers(bootstrap, unique, 2)
    said = {
        "staging table": "CREATE UNLOGGED TABLE headrace_",
        "rows in it": "INSERT INTO headrace_",
        "rows": f"INSERT INTO {table} (",
        "offsets": "UPDATE headrace_offsets SET next_offset",
    }[moment]
    with numbers.flowing():
        config = {"value.schema": "n BIGINT", "include.columns": "partition,offset"}
        create(worker, postgres, unique, table, **config)
        for _ in range(3):
            before = postgres.log.count(said)
            wait_for(lambda: postgres.log.count(said) > before, 60, said)  # noqa: B023
            kill_task(worker, unique)

    def rows() -> list[list[str]]:
        return postgres.sql(f"SELECT n, kafka_partition, kafka_offset FROM {table}")

    wait_for(lambda: len(rows()) >= numbers.sent, 60, lambda: f"{len(rows())} of {numbers.sent}")
    names = ("n", "kafka_partition", "kafka_offset")
    numbers.assert_exactly_once([dict(zip(names, map(int, row), strict=True)) for row in rows()])
    worker.delete(unique)
