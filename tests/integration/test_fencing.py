# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
import uuid
from typing import Any

import pytest
from confluent_kafka import KafkaException

from headrace.kafka.admin.admin_client import AdminClient, fence_producers
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.kafka.clients import client_config
from headrace.kafka.errors import ProducerFencedError, RetriableKafkaError, connect_error
from tests.support.polling import wait_for
from tests.support.sinks import make_topic


@pytest.fixture
def props(broker: Any) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.fixture
def topic(props: dict[str, str]) -> str:
    name = f"fencing-{uuid.uuid4().hex[:8]}"
    make_topic(props["bootstrap.servers"], name)
    return name


def _zombie(props: dict[str, str], topic: str, id: str) -> Any:
    producer = client_config.producer({**props, "transactional.id": id, "linger.ms": "0"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"zombie", b"k")
    producer.flush(10)
    return producer


def test_a_fenced_producer_cannot_commit(props: dict[str, str], topic: str) -> None:
    zombies = {f"{topic}-{n}": _zombie(props, topic, f"{topic}-{n}") for n in range(3)}
    fenced = AdminClient(props).fence_producers(zombies, 20)
    fenced.all()
    assert fenced.fenced_producers() == dict.fromkeys(zombies)
    for id, zombie in zombies.items():
        assert fenced.producer_id(id) >= 0
        assert fenced.epoch_id(id) >= 1
        with pytest.raises(KafkaException) as caught:
            zombie.commit_transaction(10)
        assert isinstance(connect_error(caught.value, "committing"), ProducerFencedError)
    # Three records and three abort markers: their transactions are over.
    admin = TopicAdmin(props)
    wait_for(lambda: admin.list_offsets(topic, [0], committed=True)[0].result(5).offset == 6, 10, "the abort markers")
    assert admin.end_offsets(topic) == {0: 6}


def test_unknown_ids_are_fenced_too_and_quickly(props: dict[str, str]) -> None:
    ids = [f"new-{uuid.uuid4().hex}" for _ in range(8)]
    fence_producers(props, ids[:1], 20).all()
    took = []
    for _ in range(3):
        started = time.monotonic()
        fence_producers(props, ids, 20).all()
        took.append(time.monotonic() - started)
    assert min(took) < 1.0, took
    assert fence_producers(props, ids, 20).epoch_id(ids[0]) == 4


def test_nothing_to_fence_needs_no_broker() -> None:
    fence_producers({"bootstrap.servers": "127.0.0.1:1"}, [], 1).all()


def test_fencing_fails_within_its_timeout_if_brokers_do_not_answer() -> None:
    started = time.monotonic()
    fenced = fence_producers({"bootstrap.servers": "127.0.0.1:1"}, ["t"], 1.0)
    assert time.monotonic() - started < 4
    with pytest.raises(RetriableKafkaError, match=r"'t' was not done in 1 s"):
        fenced.all()
    with pytest.raises(RetriableKafkaError):
        fenced.producer_id("t")
    assert isinstance(fenced.fenced_producers()["t"], RetriableKafkaError)
