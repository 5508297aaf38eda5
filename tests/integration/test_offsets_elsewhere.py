# SPDX-License-Identifier: Apache-2.0
"""Offsets of a source connector whose records go to another Kafka cluster than the workers' internal topics."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.kafka.embedded_broker import EmbeddedBroker
from headrace.model.info import ConnectorOffset
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.worker.offset_stores import OffsetStores
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
