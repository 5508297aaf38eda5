# SPDX-License-Identifier: Apache-2.0
"""The committed records of a topic, as a source task reads them back, from a real broker."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from headrace.api.source import CommittedRecord
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.source import committed_records as module
from headrace.task.source.committed_records import committed_records
from tests.support.sinks import make_topic

pytestmark = pytest.mark.integration


def test_what_is_committed_up_to_the_end(broker: EmbeddedBroker, unique: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Aborted records are left out, and so are those of an open transaction, and of compaction's or markers' gaps."""
    monkeypatch.setattr(module, "_AT_A_TIME", 7)
    make_topic(broker.bootstrap_servers, unique, partitions=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": unique})
    producer.init_transactions(30)
    for first, commits in ((0, True), (100, False), (200, True)):
        producer.begin_transaction()
        for number in range(first, first + 20):
            value = None if number % 5 == 0 else b"v"
            producer.produce(unique, value, str(number), number % 3, headers=[("h", b"x"), ("none", None)])
        (producer.commit_transaction if commits else producer.abort_transaction)(30)
    producer.begin_transaction()
    producer.produce(unique, b"open", "300", 0)
    producer.flush(30)
    found = list(committed_records({"bootstrap.servers": broker.bootstrap_servers}, unique))
    producer.abort_transaction(30)
    numbers = [int(each.key or b"") for each in found]
    assert sorted(numbers) == [*range(20), *range(200, 220)]
    for partition in range(3):
        own = [number for number in numbers if number % 3 == partition]
        assert own == sorted(own)
    assert found[numbers.index(5)] == CommittedRecord(b"5", None, (("h", b"x"), ("none", None)))
    assert found[numbers.index(6)] == CommittedRecord(b"6", b"v", (("h", b"x"), ("none", None)))


def test_a_topic_that_does_not_exist_has_none(broker: EmbeddedBroker, unique: str) -> None:
    props = {"bootstrap.servers": broker.bootstrap_servers}
    assert list(committed_records(props, unique)) == []
    assert list(committed_records(props, unique)) == []


def test_an_empty_topic_has_none(broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    assert list(committed_records({"bootstrap.servers": broker.bootstrap_servers}, unique)) == []


def test_a_reading_that_is_left_closes_its_consumer(broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for _ in range(10):
        producer.produce(unique, b"v")
    producer.flush(30)
    records = committed_records({"bootstrap.servers": broker.bootstrap_servers}, unique)
    assert next(records).value == b"v"
    records.close()  # type: ignore[attr-defined]


def test_a_broker_that_is_not_there_is_an_error(unique: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 1.0)
    with pytest.raises(RetriableKafkaError):
        list(committed_records({"bootstrap.servers": "127.0.0.1:1"}, unique))
