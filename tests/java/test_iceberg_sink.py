# SPDX-License-Identifier: Apache-2.0
"""Iceberg's own sink writes each record into a table once, whatever is killed.

It commits consumer offsets in transactions of its own, with its consumer's membership in the group. Its artifact alone
cannot write files: it is installed with those that can. The catalog is a directory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.java.jvm import class_loader, find_class, jpype, plugin_loader
from headrace.java.store import Installed, PluginStore
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.processes import kill_all
from tests.support.sinks import committed, make_topic, wait_for_committed
from tests.support.worker_process import PLUGINS, WorkerProcess

SINK = "org.apache.iceberg:iceberg-kafka-connect:1.12.0"
WRITERS = ("org.apache.iceberg:iceberg-parquet:1.12.0", "org.apache.hadoop:hadoop-client-runtime:3.4.2")
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


def rows(iceberg: Installed, table: Path) -> list[int]:
    """The numbers in the table as Iceberg reads it; none while there is no table."""
    if not (table / "metadata" / "version-hint.text").exists():
        return []
    jars = tuple(sorted(iceberg.directory.rglob("*.jar")))

    def java(name: str) -> Any:
        return jpype().JClass(find_class(jars, name))

    with class_loader(plugin_loader(jars)):
        loaded = java("org.apache.iceberg.hadoop.HadoopTables")().load(str(table))
        with closing(java("org.apache.iceberg.data.IcebergGenerics").read(loaded).build()) as records:
            return [int(str(record.getField("n"))) for record in records]


def send(bootstrap: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for number in numbers:
        producer.produce(topic, json.dumps({"n": number, "name": f"order {number}"}), partition=number % PARTITIONS)
    assert producer.flush(30) == 0


def test_each_record_is_in_the_table_once(
    worker: WorkerProcess, broker: EmbeddedBroker, iceberg: Installed, unique: str, tmp_path: Path
) -> None:
    bootstrap, table = broker.bootstrap_servers, tmp_path / "warehouse" / "shop" / "orders"
    make_topic(bootstrap, unique, PARTITIONS)
    make_topic(bootstrap, f"control-{unique}")
    config = {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": unique,
        "key.converter": "StringConverter",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
        "iceberg.catalog.type": "hadoop",
        "iceberg.catalog.warehouse": f"file://{tmp_path / 'warehouse'}",
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
        wait_for(lambda: len({*rows(iceberg, table)}) >= count, 60, lambda: f"{count} rows: {worker.log[-4000:]}")

    for first, killed in zip(range(0, ALL, 2 * A_ROUND), KILLED, strict=True):
        send(bootstrap, unique, range(first, first + A_ROUND))
        wait_for_rows(first + A_ROUND // 3)
        send(bootstrap, unique, range(first + A_ROUND, first + 2 * A_ROUND))
        kill_all(worker.task_processes()[:killed])
    wait_for_rows(ALL)
    ends = dict.fromkeys(range(PARTITIONS), ALL // PARTITIONS)
    wait_for_committed(bootstrap, unique, unique, ends)
    worker.delete(unique)
    assert Counter(rows(iceberg, table)) == dict.fromkeys(range(ALL), 1)
    assert committed(bootstrap, f"connect-{unique}", unique, PARTITIONS) == ends
