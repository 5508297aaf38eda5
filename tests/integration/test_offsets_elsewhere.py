# SPDX-License-Identifier: Apache-2.0
"""Offsets of connectors whose records are in another Kafka cluster than the workers' internal topics."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.herder.errors import RebalanceNeededError
from headrace.kafka.embedded_broker import EmbeddedBroker
from headrace.kafka.topic_admin import TopicAdmin, TopicSpec
from headrace.model.info import ConnectorOffset
from headrace.model.offsets import OffsetsChange, OffsetsChanged
from headrace.model.state import TargetState
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.worker.offset_stores import OffsetStores
from tests.support.idle_cluster import Cluster
from tests.support.polling import wait_for
from tests.support.topics import committed_offsets

WAIT = 30


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(port=0) as running:
        yield running


@pytest.fixture(params=["true", "false"], ids=["exactly-once", "at-least-once"])
def config(request: pytest.FixtureRequest, broker: EmbeddedBroker) -> DistributedConfig:
    suffix = uuid.uuid4().hex[:8]
    return DistributedConfig(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"g-{suffix}",
            "key.converter": "StringConverter",
            "value.converter": "StringConverter",
            "config.storage.topic": f"configs-{suffix}",
            "offset.storage.topic": f"offsets-{suffix}",
            "offset.storage.replication.factor": "1",
            "offset.storage.partitions": "2",
            "status.storage.topic": f"statuses-{suffix}",
            "exactly.once.source.enabled": request.param,
        }
    )


@pytest.fixture
def common(config: DistributedConfig) -> Iterator[KafkaOffsetBackingStore]:
    topic = config.offset_topic
    spec = compacted_topic(topic.name, "offset.storage", topic.partitions, topic.replication_factor, topic.config)
    clients = LogClients(
        client_configs.offsets_log_consumer(config),
        client_configs.offsets_log_producer(config),
        client_configs.admin(config),
    )
    store = KafkaOffsetBackingStore(spec, clients)
    store.start()
    yield store
    store.stop()


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
    TopicAdmin({"bootstrap.servers": elsewhere.bootstrap_servers}).create_topics([TopicSpec(name, 1, 1)])
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
