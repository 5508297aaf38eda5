# SPDX-License-Identifier: Apache-2.0
"""MongoDB's own connectors on a real worker, with a server of its protocol: from a collection to another one.

The source is killed while documents come in: each change is in the topic once. The sink is killed while it writes: it
repeats what it has not committed, and writes by key, so that each document is there once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.java.store import Installed, PluginStore
from tests.java.mongo_server import MongoClient, mongo_server
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.processes import kill_all
from tests.support.sinks import committed
from tests.support.topics import read_committed, values, wait_for_values
from tests.support.worker_process import PLUGINS, WorkerProcess

CONNECTORS = "org.mongodb.kafka:mongo-kafka-connect:2.0.1"
A_ROUND = 100
KILLS = 3
ALL = A_ROUND * (KILLS + 1)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    store = PluginStore(tmp_path_factory.mktemp("mongodb") / "plugins")
    return or_skip(lambda: store.install(CONNECTORS))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with mongo_server() as uri:
        yield uri


@pytest.fixture(scope="module")
def client(server: str, plugin: Installed) -> Iterator[MongoClient]:
    client = MongoClient(server, tuple(sorted(plugin.directory.rglob("*.jar"))))
    yield client
    client.close()


@pytest.fixture(scope="module")
def worker(
    broker: EmbeddedBroker, plugin: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    own = {"plugin.path": f"{PLUGINS},{plugin.directory.parent}", "group.id": "mongodb"}
    with WorkerProcess(tmp_path_factory.mktemp("worker"), broker.bootstrap_servers, **own) as running:
        running.await_answer(path="/connectors")
        yield running


def source(server: str, unique: str) -> dict[str, str]:
    return {
        "connector.class": "com.mongodb.kafka.connect.MongoSourceConnector",
        "tasks.max": "1",
        "connection.uri": server,
        "database": unique,
        "collection": "orders",
        "topic.prefix": unique,
        "startup.mode": "copy_existing",
        "publish.full.document.only": "true",
        "output.format.value": "json",
        "poll.await.time.ms": "200",
        # This server's changes do not say which collection they are of, as MongoDB's do.
        "pipeline": json.dumps([{"$addFields": {"ns": {"db": unique, "coll": "orders"}}}]),
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
    }


def sink(server: str, unique: str) -> dict[str, str]:
    return {
        "connector.class": "com.mongodb.kafka.connect.MongoSinkConnector",
        "tasks.max": "1",
        "topics": f"{unique}.{unique}.orders",
        "connection.uri": server,
        "database": unique,
        "collection": "copy",
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
        "document.id.strategy": "com.mongodb.kafka.connect.sink.processor.id.strategy.ProvidedInValueStrategy",
        "document.id.strategy.overwrite.existing": "true",
    }


def test_from_a_collection_to_another_one(
    worker: WorkerProcess, broker: EmbeddedBroker, server: str, client: MongoClient, unique: str
) -> None:
    bootstrap, topic = broker.bootstrap_servers, f"{unique}.{unique}.orders"

    def insert(numbers: range) -> None:
        client.insert(unique, "orders", *({"_id": number, "name": f"order {number}"} for number in numbers))

    def numbers(found: list[bytes | None]) -> list[int]:
        return [int(json.loads(each or b"")["_id"]) for each in found]

    insert(range(A_ROUND))
    worker.create(unique, **source(server, unique))
    wait_for_values(bootstrap, topic, A_ROUND, 120)
    # With this server, the first change stream has no token to begin at: it begins when it is opened.
    wait_for(lambda: "New change stream cursor created" in worker.log, 60, lambda: worker.log[-4000:])
    for kill in range(KILLS):
        first = (kill + 1) * A_ROUND
        insert(range(first, first + A_ROUND // 2))
        wait_for_values(bootstrap, topic, first + 1, 60)
        kill_all(worker.task_processes())
        insert(range(first + A_ROUND // 2, first + A_ROUND))
    wait_for_values(bootstrap, topic, ALL, 120)
    worker.delete(unique)
    assert Counter(numbers(values(bootstrap, topic))) == dict.fromkeys(range(ALL), 1)

    def copied() -> list[dict[str, Any]]:
        return client.documents(unique, "copy")

    name = f"{unique}-sink"
    worker.create(name, **sink(server, unique))
    wait_for(copied, 90, lambda: worker.log[-4000:])
    kill_all(worker.task_processes())
    wait_for(lambda: len(copied()) >= ALL, 90, lambda: f"{len(copied())} documents: {worker.log[-4000:]}")
    worker.delete(name)
    last = read_committed(bootstrap, topic)[-1]
    assert committed(bootstrap, f"connect-{name}", topic, 1)[0] > last.offset
    assert Counter(each["_id"] for each in copied()) == dict.fromkeys(range(ALL), 1)
    assert {each["name"] for each in copied()} == {f"order {number}" for number in range(ALL)}
