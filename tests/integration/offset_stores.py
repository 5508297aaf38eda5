# SPDX-License-Identifier: Apache-2.0
"""The configuration of a worker with internal topics of its own, and its store of source offsets, without a worker."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore


def worker_config(broker: EmbeddedBroker, exactly_once: str = "true") -> DistributedConfig:
    """Return a worker's configuration; its group and topics are its own."""
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
            "offset.storage.partitions": "3",
            "status.storage.topic": f"statuses-{suffix}",
            "exactly.once.source.enabled": exactly_once,
        }
    )


@contextmanager
def started_store(config: DistributedConfig) -> Iterator[KafkaOffsetBackingStore]:
    """Start the worker's own store, and stop it."""
    topic = config.offset_topic
    spec = compacted_topic(topic.name, "offset.storage", topic.partitions, topic.replication_factor, topic.config)
    clients = LogClients(
        client_configs.offsets_log_consumer(config),
        client_configs.offsets_log_producer(config),
        client_configs.admin(config),
    )
    store = KafkaOffsetBackingStore(spec, clients)
    store.start()
    try:
        yield store
    finally:
        store.stop()
