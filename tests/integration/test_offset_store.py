# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.kafka.clients import client_config
from headrace.kafka.errors import RetriableKafkaError
from headrace.storage import offset_codec
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.offset_backing_store import ConnectorOffsetBackingStore, KafkaOffsetBackingStore
from headrace.storage.offset_storage_reader import StoreOffsetStorageReader


@pytest.fixture
def props(broker: Any) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.fixture
def open_store(props: dict[str, str]) -> Iterator[Callable[[str], KafkaOffsetBackingStore]]:
    stores: list[KafkaOffsetBackingStore] = []

    def make(topic: str) -> KafkaOffsetBackingStore:
        consumer = {**props, "isolation.level": "read_committed"}
        made = KafkaOffsetBackingStore(
            compacted_topic(topic, "offset.storage", 25, 1), LogClients(consumer, props, props)
        )
        stores.append(made)
        made.start()
        return made

    yield make
    for made in stores:
        made.stop()


@pytest.fixture
def store(open_store: Callable[[str], KafkaOffsetBackingStore]) -> KafkaOffsetBackingStore:
    return open_store(f"offsets-{uuid.uuid4().hex[:8]}")


def _key(name: str, connector: str = "c") -> bytes:
    return offset_codec.encode_key(connector, {"file": name})


def _offset(position: int) -> bytes | None:
    return offset_codec.encode_offset({"position": position})


def test_offsets_are_read_as_written(
    store: KafkaOffsetBackingStore, open_store: Callable[[str], KafkaOffsetBackingStore], props: dict[str, str]
) -> None:
    store.set({_key("x"): _offset(1), _key("y"): _offset(2), _key("x", "other"): _offset(3)}).result(10)
    store.set({_key("y"): None}).result(10)
    for each in (store, open_store(store.topic)):
        assert each.get([_key("x"), _key("y")]).result(10) == {_key("x"): b'{"position":1}', _key("y"): None}
        assert each.offsets_of("c").result(10) == {b'{"file":"x"}': {"position": 1}}
        assert each.offsets_of("nobody").result(10) == {}
    assert len(TopicAdmin(props).partitions(store.topic)) == 25


def test_a_read_waits_for_a_zombies_transaction(store: KafkaOffsetBackingStore, props: dict[str, str]) -> None:
    """Invariant 3: read to the last stable offset, it would miss what the transaction commits a moment later."""
    producer = client_config.producer({**props, "transactional.id": uuid.uuid4().hex, "linger.ms": "0"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(store.topic, _offset(7), _key("x"))
    producer.flush(10)
    reader = StoreOffsetStorageReader("c", store, timeout=0.7)
    with pytest.raises(RetriableKafkaError, match="open transaction"):
        reader.offset({"file": "x"})
    reading = store.get([_key("x")])
    producer.commit_transaction(10)
    assert reading.result(10) == {_key("x"): b'{"position":7}'}
    assert reader.offset({"file": "x"}) == {"position": 7}


def test_aborted_offsets_are_never_seen(store: KafkaOffsetBackingStore, props: dict[str, str]) -> None:
    producer = client_config.producer({**props, "transactional.id": uuid.uuid4().hex, "linger.ms": "0"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(store.topic, _offset(7), _key("x"))
    producer.abort_transaction(10)
    assert store.get([_key("x")]).result(10) == {_key("x"): None}


def test_a_connectors_own_topic_comes_first(
    store: KafkaOffsetBackingStore, open_store: Callable[[str], KafkaOffsetBackingStore]
) -> None:
    own = open_store(f"{store.topic}-own")
    store.set({_key("x"): _offset(1), _key("y"): _offset(2)}).result(10)
    own.set({_key("x"): _offset(10)}).result(10)
    both = ConnectorOffsetBackingStore(own, store)
    reader = StoreOffsetStorageReader("c", both)
    assert reader.offsets([{"file": "x"}, {"file": "y"}, {"file": "z"}]) == [{"position": 10}, {"position": 2}, None]
    both.set({_key("x"): None, _key("y"): _offset(20)}).result(10)
    assert reader.offsets([{"file": "x"}, {"file": "y"}]) == [None, {"position": 20}]


def test_an_offset_that_cannot_be_read_fails_the_reader(store: KafkaOffsetBackingStore) -> None:
    store.set({_key("x"): b"zz"}).result(10)
    with pytest.raises(ConnectError, match=r'\["c",\{"file":"x"\}\] cannot be read'):
        StoreOffsetStorageReader("c", store).offset({"file": "x"})
