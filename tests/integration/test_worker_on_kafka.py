# SPDX-License-Identifier: Apache-2.0
"""What the worker does with offsets and producers, against a real broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.kafka.clients import client_config
from headrace.model.ids import ConnectorTaskId
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.worker.offsets.offset_stores import OffsetStores
from headrace.worker.offsets.task_offsets import SourceTaskOffsets
from headrace.worker.producer_fencing import fence_zombies
from headrace.worker.stages import Stages
from tests.integration.offset_stores import started_store, worker_config
from tests.support.polling import wait_for

A, B, C = ({"filename": name} for name in "abc")
WAIT = 30


@pytest.fixture
def config(broker: EmbeddedBroker) -> DistributedConfig:
    return worker_config(broker)


@pytest.fixture
def store(config: DistributedConfig) -> Iterator[KafkaOffsetBackingStore]:
    """The worker's own store; connector x has offset 1 for A and B in it."""
    with started_store(config) as store:
        store.set({encode_key("x", each): encode_offset({"position": 1}) for each in (A, B)}).result(WAIT)
        yield store


@pytest.fixture
def connector(config: DistributedConfig) -> dict[str, str]:
    return {"name": "x", "connector.class": "FileStreamSource", "offsets.storage.topic": f"own-{config.group_id}"}


@pytest.fixture
def stores(config: DistributedConfig, store: KafkaOffsetBackingStore) -> Iterator[OffsetStores]:
    stores = OffsetStores(config, store)
    yield stores
    stores.stop()


@pytest.fixture
def producer(config: DistributedConfig, connector: Mapping[str, str]) -> Iterator[Callable[[int], Producer]]:
    """Makes a task's transactional producers, with a transaction begun."""
    made = []

    def make(task: int) -> Producer:
        props = client_config.producer_config(client_configs.source_task_producer(config, connector, task))
        made.append(Producer(props))
        made[-1].init_transactions(WAIT)
        made[-1].begin_transaction()
        return made[-1]

    yield make
    for each in made:
        each.purge()


def test_an_own_topic_is_made_read_first_and_copied(
    config: DistributedConfig,
    stores: OffsetStores,
    connector: dict[str, str],
    producer: Callable[[int], Producer],
) -> None:
    offsets = SourceTaskOffsets(stores, ConnectorTaskId("x", 0), connector, Stages(time.monotonic))
    offsets.prepare()
    admin = TopicAdmin(client_configs.admin(config))
    made = admin.describe(connector["offsets.storage.topic"])
    admin.close()
    assert made is not None and len(made.partitions) == 3
    assert offsets.read([A, C]) == [{"position": 1}, None]
    task = producer(0)
    task.produce(connector["offsets.storage.topic"], key=encode_key("x", A), value=encode_offset({"position": 7}))
    task.commit_transaction(WAIT)
    assert offsets.read([A, B, C]) == [{"position": 7}, {"position": 1}, None]

    offsets.committed([(A, {"position": 7})])
    worker_view = {key: text for key, text in connector.items() if key != "offsets.storage.topic"}

    def found() -> dict[str, Any]:
        return {each.partition["filename"]: each.offset for each in stores.offsets(worker_view)}

    wait_for(lambda: found().get("a") == {"position": 7}, WAIT, lambda: f"the copy: {found()}")
    assert found() == {"a": {"position": 7}, "b": {"position": 1}}


def test_fencing_leaves_no_former_task_able_to_commit(
    config: DistributedConfig,
    connector: dict[str, str],
    producer: Callable[[int], Producer],
) -> None:
    topic = f"data-{config.group_id}"
    former = [producer(task) for task in range(3)]
    for each in former:
        each.produce(topic, b"zombie")
        each.flush(WAIT)
    fence_zombies(config, connector, 2)
    for each in former[:2]:
        with pytest.raises(KafkaException) as error:
            each.commit_transaction(WAIT)
        assert error.value.args[0].code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
    former[2].commit_transaction(WAIT)
