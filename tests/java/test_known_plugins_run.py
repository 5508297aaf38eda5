# SPDX-License-Identifier: Apache-2.0
"""Connectors of Maven Central that need no server run on a real worker."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from headrace import KAFKA_VERSION
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.java.store import PluginStore
from tests.support.debian import or_skip
from tests.support.sinks import make_topic, numbers, send, wait_for_committed
from tests.support.topics import committed_offsets, read_committed, wait_for_values
from tests.support.worker_process import PLUGINS, WorkerProcess

TOOLS = "java:org.apache.kafka.connect.tools"
CAMEL = "org.apache.camel.kafkaconnector"
TIMER = f"{CAMEL}.timer.CamelTimerSourceConnector"
INSTALLED = (
    f"org.apache.kafka:connect-test-plugins:{KAFKA_VERSION}",
    f"{CAMEL}:camel-timer-kafka-connector:0.7.2",
)
JSON = {f"{part}.converter": "JsonConverter" for part in ("key", "value")} | {
    f"{part}.converter.schemas.enable": "false" for part in ("key", "value")
}


@pytest.fixture(scope="module")
def worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker that finds the jars."""
    store = PluginStore(tmp_path_factory.mktemp("running") / "plugins")
    for coordinate in INSTALLED:
        or_skip(lambda coordinate=coordinate: store.install(coordinate))  # type: ignore[misc]
    path = {"plugin.path": f"{PLUGINS},{store.directory}", "group.id": "known-plugins"}
    with WorkerProcess(tmp_path_factory.mktemp("running-worker"), broker.bootstrap_servers, **path) as running:
        running.await_answer(path="/connectors")
        yield running


def test_a_verifiable_source(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    config = {"connector.class": f"{TOOLS}.VerifiableSourceConnector", "tasks.max": "1", "throughput": "100", **JSON}
    worker.create(unique, **config, topic=unique)
    wait_for_values(broker.bootstrap_servers, unique, 150, 90)
    worker.delete(unique)
    found = [json.loads(each.value or b"") for each in read_committed(broker.bootstrap_servers, unique)]
    assert found == list(range(len(found)))
    (offset,) = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique).values()
    assert offset == {"seqno": len(found) - 1}


def test_a_schema_source(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    config = {
        "connector.class": f"{TOOLS}.SchemaSourceConnector",
        "tasks.max": "1",
        "num.messages": "20",
        "throughput": "100",
        **JSON,
    }
    worker.create(unique, **config, topic=unique)
    wait_for_values(broker.bootstrap_servers, unique, 20, 90)
    worker.delete(unique)
    found = [json.loads(each.value or b"") for each in read_committed(broker.bootstrap_servers, unique)]
    assert [each["seqno"] for each in found] == list(range(20))


def test_a_verifiable_sink(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 50), key=b"1")
    config = {"connector.class": f"{TOOLS}.VerifiableSinkConnector", "id": "7", "topics": unique, **JSON}
    worker.create(unique, **config)
    wait_for_committed(broker.bootstrap_servers, unique, unique, {0: 50}, 120)
    worker.delete(unique)


def test_camels_timer(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    config = {
        "connector.class": TIMER,
        "tasks.max": "1",
        "camel.source.path.timerName": "tick",
        "camel.source.endpoint.period": "200",
        "topics": unique,
        "value.converter": "StringConverter",
        "header.converter": "SimpleHeaderConverter",
    }
    worker.create(unique, **config)
    wait_for_values(broker.bootstrap_servers, unique, 5, 90)
    worker.delete(unique)
    record = read_committed(broker.bootstrap_servers, unique)[0]
    assert {"CamelProperty.CamelTimerName", "CamelHeader.firedTime"} & {name for name, _ in record.headers}, record
