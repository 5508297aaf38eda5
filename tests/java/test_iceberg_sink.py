# SPDX-License-Identifier: Apache-2.0
"""Iceberg's own sink writes each record into a table once, whatever is killed.

It commits consumer offsets in transactions of its own, with its consumer's membership in the group. Its artifact alone
cannot write files: it is installed with those that can. The catalog is a directory, tables of a PostgreSQL, or a server
of Iceberg's REST protocol.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import pytest
from confluent_kafka import Producer

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.java.jvm import class_loader, find_class, jpype, plugin_loader
from headrace.java.store import Installed, PluginStore
from tests.java.iceberg_rest import rest_catalog, table_of
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import DRIVER, USER, Postgres, found_postgres
from tests.support.processes import kill_all
from tests.support.sinks import committed, make_topic, wait_for_committed
from tests.support.worker_process import PLUGINS, WorkerProcess

SINK = "org.apache.iceberg:iceberg-kafka-connect:1.12.0"
WRITERS = ("org.apache.iceberg:iceberg-parquet:1.12.0", "org.apache.hadoop:hadoop-client-runtime:3.4.2", DRIVER)
QUIET = "-Dorg.slf4j.simpleLogger.log.org.apache.kafka=warn"
PARTITIONS = 3
A_ROUND = 300
KILLED = (1, 2, 1)
"""How many of the two tasks' processes, after the first half of each round is in the table."""
ALL = len(KILLED) * 2 * A_ROUND


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The plugin, with what writes files."""
    store = PluginStore(tmp_path_factory.mktemp("iceberg") / "plugins")
    return or_skip(lambda: store.install(SINK, more=WRITERS))


@pytest.fixture
def worker(broker: EmbeddedBroker, iceberg: Installed, tmp_path: Path, unique: str) -> Iterator[WorkerProcess]:
    own = {"plugin.path": f"{PLUGINS},{iceberg.directory.parent}", "group.id": unique, "java.options": QUIET}
    with WorkerProcess(tmp_path, broker.bootstrap_servers, **own) as running:
        running.await_answer(path="/connectors")
        yield running


class Catalog(Protocol):
    """Where Iceberg finds its tables."""

    def config(self) -> dict[str, str]:
        """The sink's properties."""

    def table(self) -> str | None:
        """The place of table `shop.orders`, as Iceberg's `HadoopTables` takes it; None while there is no table."""


class Files:
    """A directory, in which Iceberg finds a table's newest state by a file of its own."""

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse

    def config(self) -> dict[str, str]:
        return {"iceberg.catalog.type": "hadoop", "iceberg.catalog.warehouse": f"file://{self._warehouse}"}

    def table(self) -> str | None:
        table = self._warehouse / "shop" / "orders"
        return str(table) if (table / "metadata" / "version-hint.text").exists() else None


class Database:
    """A PostgreSQL, in which each commit is a change of a row."""

    def __init__(self, warehouse: Path, postgres: Postgres) -> None:
        self._warehouse, self._postgres = warehouse, postgres

    def config(self) -> dict[str, str]:
        return {
            "iceberg.catalog.type": "jdbc",
            "iceberg.catalog.warehouse": f"file://{self._warehouse}",
            "iceberg.catalog.uri": self._postgres.jdbc_url,
            "iceberg.catalog.jdbc.user": USER,
            "iceberg.catalog.jdbc.schema-version": "V1",
        }

    def table(self) -> str | None:
        if self._postgres.sql("SELECT to_regclass('iceberg_tables') IS NULL") == [["t"]]:
            return None
        found = self._postgres.sql("SELECT metadata_location FROM iceberg_tables WHERE table_name = 'orders'")
        return str(found[0][0]) if found else None


class Server:
    """A catalog behind HTTP, which decides whether a commit is one of the table's newest state."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def config(self) -> dict[str, str]:
        return {"iceberg.catalog.type": "rest", "iceberg.catalog.uri": self._uri}

    def table(self) -> str | None:
        found = table_of(self._uri, "shop", "orders")
        return found and str(found["metadata-location"])


@pytest.fixture(params=["files", "database", "server"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    warehouse = tmp_path / "warehouse"
    if request.param == "files":
        yield Files(warehouse)
    elif request.param == "database":
        with Postgres(or_skip(found_postgres)) as postgres:
            yield Database(warehouse, postgres)
    else:
        with rest_catalog(warehouse) as uri:
            yield Server(uri)


def rows(iceberg: Installed, catalog: Catalog) -> list[int]:
    """The numbers in the table as Iceberg reads it; none while there is no table."""
    if (table := catalog.table()) is None:
        return []
    jars = tuple(sorted(iceberg.directory.rglob("*.jar")))

    def java(name: str) -> Any:
        return jpype().JClass(find_class(jars, name))

    with class_loader(plugin_loader(jars)):
        # The place is a directory, or a file of metadata.
        loaded = java("org.apache.iceberg.hadoop.HadoopTables")().load(table)
        with closing(java("org.apache.iceberg.data.IcebergGenerics").read(loaded).build()) as records:
            return [int(str(record.getField("n"))) for record in records]


def send(bootstrap: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for number in numbers:
        producer.produce(topic, json.dumps({"n": number, "name": f"order {number}"}), partition=number % PARTITIONS)
    assert producer.flush(30) == 0


def test_each_record_is_in_the_table_once(
    worker: WorkerProcess, broker: EmbeddedBroker, iceberg: Installed, catalog: Catalog, unique: str
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique, PARTITIONS)
    make_topic(bootstrap, f"control-{unique}")
    config = {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": unique,
        "key.converter": "StringConverter",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
        **catalog.config(),
        "iceberg.tables": "shop.orders",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.control.topic": f"control-{unique}",
        "iceberg.control.commit.interval-ms": "1000",
        "iceberg.control.commit.timeout-ms": "3000",
        "iceberg.kafka.bootstrap.servers": bootstrap,
        # What is open when a task is killed holds up all that read the control topic.
        "iceberg.kafka.transaction.timeout.ms": "5000",
        # Else a coordinator that begins before another has committed misses what was written for that one.
        "iceberg.kafka.auto.offset.reset": "earliest",
    }
    worker.create(unique, **config)
    worker.wait_for_tasks(unique, tasks=2)

    def wait_for_rows(count: int) -> None:
        wait_for(lambda: len({*rows(iceberg, catalog)}) >= count, 60, lambda: f"{count} rows: {worker.log[-4000:]}")

    for first, killed in zip(range(0, ALL, 2 * A_ROUND), KILLED, strict=True):
        send(bootstrap, unique, range(first, first + A_ROUND))
        wait_for_rows(first + A_ROUND // 3)
        send(bootstrap, unique, range(first + A_ROUND, first + 2 * A_ROUND))
        kill_all(worker.task_processes()[:killed])
    wait_for_rows(ALL)
    ends = dict.fromkeys(range(PARTITIONS), ALL // PARTITIONS)
    wait_for_committed(bootstrap, unique, unique, ends)
    worker.delete(unique)
    assert Counter(rows(iceberg, catalog)) == dict.fromkeys(range(ALL), 1)
    assert committed(bootstrap, f"connect-{unique}", unique, PARTITIONS) == ends
