# SPDX-License-Identifier: Apache-2.0
"""Offsets of connectors whose records are in another Kafka cluster than the workers' internal topics."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.config.distributed_config import DistributedConfig
from headrace.herder.errors import RebalanceNeededError
from headrace.model.info import ConnectorOffset, OffsetsChange, OffsetsChanged
from headrace.model.state import TargetState
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.worker.offsets.offset_stores import OffsetStores
from tests.integration.offset_stores import started_store, worker_config
from tests.support.group_of_workers import Cluster
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, wait_for_lines
from tests.support.topics import committed_offsets, wait_for_values
from tests.support.worker_process import WorkerProcess, once_settled

WAIT = 30


@pytest.fixture(params=["true", "false"], ids=["exactly-once", "at-least-once"])
def config(request: pytest.FixtureRequest, broker: EmbeddedBroker) -> DistributedConfig:
    return worker_config(broker, request.param)


@pytest.fixture
def common(config: DistributedConfig) -> Iterator[KafkaOffsetBackingStore]:
    with started_store(config) as store:
        yield store


@pytest.mark.parametrize("own_topic", [None, "own"])
def test_both_clusters_have_what_was_changed(
    config: DistributedConfig,
    common: KafkaOffsetBackingStore,
    broker: EmbeddedBroker,
    elsewhere: EmbeddedBroker,
    own_topic: str | None,
) -> None:
    """Without an offsets topic of its own the connector's tasks write to one of the workers' name, in their cluster."""
    clients = ("producer", "consumer", "admin")
    connector: dict[str, Any] = {"name": "x", "connector.class": "FileStreamSource"}
    connector |= {f"{client}.override.bootstrap.servers": elsewhere.bootstrap_servers for client in clients}
    topic = config.offset_topic.name
    if own_topic is not None:
        topic = connector["offsets.storage.topic"] = f"{own_topic}-{config.group_id}"
    old, new = {"filename": "old"}, {"filename": "new"}
    common.set({encode_key("x", old): encode_offset({"position": 1})}).result(WAIT)
    stores = OffsetStores(config, common)
    try:
        assert stores.offsets(connector) == (ConnectorOffset(old, {"position": 1}),)
        for position in (2, None, None):
            offset = None if position is None else {"position": position}
            stores.alter(connector, {encode_key("x", each): encode_offset(offset) for each in (old, new)})
            wanted = {f'{{"filename": "{name}"}}': offset for name in ("old", "new")}
            assert committed_offsets(elsewhere.bootstrap_servers, topic, "x") == wanted
            assert committed_offsets(broker.bootstrap_servers, config.offset_topic.name, "x") == wanted
        assert stores.offsets(connector) == ()
    finally:
        stores.stop()


def test_a_sinks_offsets_are_in_the_cluster_that_it_reads(broker: EmbeddedBroker, elsewhere: EmbeddedBroker) -> None:
    """Viewed, altered and reset there; nothing of it is to be seen in the workers' own cluster."""
    name = f"sink-{uuid.uuid4().hex[:8]}"
    group, partition = f"connect-{name}", TopicPartition(name, 0, 3)
    make_topic(elsewhere.bootstrap_servers, name)
    fill(elsewhere, name, 5)
    consumer = Consumer({"bootstrap.servers": elsewhere.bootstrap_servers, "group.id": group})
    consumer.commit(offsets=[partition], asynchronous=False)
    consumer.close()
    config = {"connector.class": "FileStreamSink", "topics": name, "file": "/nowhere/out.txt"}
    config |= {f"{client}.override.bootstrap.servers": elsewhere.bootstrap_servers for client in ("consumer", "admin")}
    cluster = Cluster(broker.bootstrap_servers, **{"connector.client.config.override.policy": "All"})
    herder = cluster.start()

    def offsets() -> list[Any]:
        return [found.offset for found in herder.connector_offsets(name).result(WAIT)]

    def change(*wanted: ConnectorOffset) -> OffsetsChanged:
        def ask() -> OffsetsChanged | None:
            try:
                return herder.change_offsets(name, OffsetsChange(wanted or None)).result(WAIT)
            except RebalanceNeededError:
                return None

        return wait_for(ask, WAIT, "the end of the rebalance")

    try:
        herder.put_connector_config(name, config, target_state=TargetState.STOPPED, allow_replace=False).result(WAIT)
        assert offsets() == [{"kafka_offset": 3}]
        change(ConnectorOffset({"kafka_topic": name, "kafka_partition": 0}, {"kafka_offset": 1}))
        assert offsets() == [{"kafka_offset": 1}]
        assert committed(elsewhere, group, name) == 1 and committed(broker, group, name) < 0
        for _ in range(2):
            change()
            assert offsets() == []
        assert committed(elsewhere, group, name) < 0
    finally:
        cluster.stop()


# ---- through REST, with tasks that run before and afterwards


@pytest.fixture(scope="module")
def free_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """Its connectors may choose their brokers."""
    more = {"group.id": "group-elsewhere", "connector.client.config.override.policy": "All"}
    with WorkerProcess(tmp_path_factory.mktemp("free-worker"), broker.bootstrap_servers, **more) as running:
        yield running


@pytest.mark.parametrize("own_topic", [False, True], ids=["workers-topic-name", "own-topic"])
def test_a_source_that_writes_elsewhere(
    free_worker: WorkerProcess,
    broker: EmbeddedBroker,
    elsewhere: EmbeddedBroker,
    unique: str,
    tmp_path: Path,
    own_topic: bool,
) -> None:
    """Looked at, altered and reset; the copies in the workers' cluster are changed with the offsets."""
    worker, lines, file = free_worker, [b"one", b"two", b"three", b"four"], tmp_path / "lines.txt"
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": unique}
    config["producer.override.bootstrap.servers"] = elsewhere.bootstrap_servers
    common = worker.properties["offset.storage.topic"]
    topic = f"{unique}-offsets" if own_topic else common
    if own_topic:
        config["offsets.storage.topic"] = topic

    def stored() -> list[Any]:
        places = ((elsewhere, topic), (broker, common))
        found = [committed_offsets(where.bootstrap_servers, name, unique) for where, name in places]
        return [next(iter(each.values()), None) for each in found]

    def position(wanted: int) -> list[dict[str, Any]]:
        return [{"partition": {"filename": str(file)}, "offset": {"position": wanted}}]

    worker.create(unique, **config)
    wait_for_values(elsewhere.bootstrap_servers, unique, 4)
    wait_for(lambda: reported(worker, unique) == position(19), 60, lambda: f"the end: {reported(worker, unique)}")
    worker.stop_connector(unique)
    change_by_rest(worker, unique, {"offsets": position(8)})
    assert reported(worker, unique) == position(8)
    assert stored() == [{"position": 8}, {"position": 8}]
    assert worker.rest.put(f"/connectors/{unique}/resume").status_code == 202
    assert wait_for_values(elsewhere.bootstrap_servers, unique, 6) == [*lines, b"three", b"four"]
    wait_for(lambda: reported(worker, unique) == position(19), 60, lambda: f"the end: {reported(worker, unique)}")
    worker.stop_connector(unique)
    change_by_rest(worker, unique)
    assert reported(worker, unique) == []
    assert stored() == [None, None]
    assert worker.rest.put(f"/connectors/{unique}/resume").status_code == 202
    assert wait_for_values(elsewhere.bootstrap_servers, unique, 10)[6:] == lines
    worker.delete(unique)
    assert unique not in AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=WAIT).topics


def test_a_sink_that_reads_elsewhere(
    free_worker: WorkerProcess, broker: EmbeddedBroker, elsewhere: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    worker, bootstrap, file = free_worker, elsewhere.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    fill(elsewhere, unique, 10)
    servers = {f"{client}.override.bootstrap.servers": bootstrap for client in ("consumer", "admin")}
    create_sink(worker, unique, unique, file, **servers)
    wait_for_lines(file, 10)

    def offset(wanted: int) -> list[dict[str, Any]]:
        return [{"partition": {"kafka_topic": unique, "kafka_partition": 0}, "offset": {"kafka_offset": wanted}}]

    wait_for(lambda: reported(worker, unique) == offset(10), 60, lambda: f"the end: {reported(worker, unique)}")
    worker.stop_connector(unique)
    change_by_rest(worker, unique, {"offsets": offset(7)})
    assert reported(worker, unique) == offset(7)
    worker.rest.put(f"/connectors/{unique}/resume")
    assert wait_for_lines(file, 13)[10:] == ["7", "8", "9"]
    worker.stop_connector(unique)
    change_by_rest(worker, unique)
    assert reported(worker, unique) == []
    worker.rest.put(f"/connectors/{unique}/resume")
    assert wait_for_lines(file, 23)[13:] == [str(n) for n in range(10)]
    assert committed(broker, f"connect-{unique}", unique) < 0
    worker.delete(unique)


def reported(worker: WorkerProcess, name: str) -> Any:
    return worker.rest.get(f"/connectors/{name}/offsets").json()["offsets"]


def change_by_rest(worker: WorkerProcess, name: str, body: dict[str, Any] | None = None) -> None:
    """Alter the offsets, or reset them."""
    method, more = ("DELETE", {}) if body is None else ("PATCH", {"json": body})
    answer = once_settled(lambda: worker.rest.request(method, f"/connectors/{name}/offsets", **more))
    assert answer.status_code == 204, answer.text


def fill(broker: EmbeddedBroker, topic: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(records):
        producer.produce(topic, str(number).encode())
    assert producer.flush(WAIT) == 0


def committed(broker: EmbeddedBroker, group: str, topic: str) -> int:
    """What the group has committed, negative if nothing."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    try:
        (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=WAIT)
    finally:
        consumer.close()
    return int(found.offset)
