# SPDX-License-Identifier: Apache-2.0
"""The logs and stores while their broker is away, and after it has come back. The broker is these tests' own."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence

import pytest

from headrace.api.errors import RetriableError
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.kafka.admin.topic_admin import TopicSpec
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.log.kafka_based_log import KafkaBasedLog, LogRecord
from headrace.storage.config_writes import ConnectorWrite
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.kafka_config_backing_store import KafkaConfigBackingStore
from tests.support.polling import wait_for


@pytest.fixture(scope="module")
def own_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(port=0, jvm_options=QUICK_START_JVM_OPTIONS) as running:
        yield running


@pytest.fixture
def props(own_broker: EmbeddedBroker) -> dict[str, str]:
    return {"bootstrap.servers": own_broker.bootstrap_servers}


def test_a_log_continues_after_the_broker_restarts(own_broker: EmbeddedBroker, props: dict[str, str]) -> None:
    topic, records = f"log-{uuid.uuid4().hex[:8]}", list[LogRecord]()

    def take(batch: Sequence[LogRecord]) -> None:
        records.extend(batch)

    log = KafkaBasedLog(topic, props, props, take, props, TopicSpec(topic, 1, 1, {"cleanup.policy": "compact"}))
    log.start()
    try:
        log.send(b"k", b"before").result(20)
        own_broker.kill()
        reading = log.read_to_end()
        sending = log.send(b"k", b"during")
        with pytest.raises(TimeoutError):
            reading.result(1.0)
        assert topic in (log.waiting_for() or "")
        own_broker.start()
        sending.result(30)
        reading.result(30)
        log.read_to_end().result(30)
        assert [record.value for record in records] == [b"before", b"during"]
        assert log.failure() is None
    finally:
        log.stop()


def test_a_leader_loses_its_privileges_and_can_claim_them_again(
    own_broker: EmbeddedBroker, props: dict[str, str]
) -> None:
    """Invariant 5: the result of a transaction that the broker's death cut short is unknown; it is written again."""
    group = uuid.uuid4().hex[:8]
    store = KafkaConfigBackingStore(
        compacted_topic(f"config-{group}", "config.storage", 1, 1),
        LogClients(props, None, props),
        {**props, "transactional.id": f"connect-cluster-{group}", "transaction.timeout.ms": "3000"},
        lambda state, updates: None,
    )
    store.start()
    try:
        store.claim_write_privileges()
        store.write(ConnectorWrite("c", {"v": "1"}))
        own_broker.kill()
        with pytest.raises(RetriableError):
            store.write(ConnectorWrite("c", {"v": "2"}))
        own_broker.start()

        def written() -> bool:
            try:
                store.claim_write_privileges()
                store.write(ConnectorWrite("c", {"v": "3"}))
            except RetriableError:
                return False
            return True

        wait_for(written, 60, "a write with new privileges")
        assert store.snapshot().connector_config("c") == {"v": "3"}
    finally:
        store.stop()


def test_a_producer_takes_no_core_while_the_broker_stands_still(
    own_broker: EmbeddedBroker, props: dict[str, str]
) -> None:
    """librdkafka's thread does not pause while records are due, or flushed, and five are under way before them."""
    topic = f"still-{uuid.uuid4().hex[:8]}"
    producer = TransactionalProducer({**props, "transactional.id": topic, "buffer.memory": "1000"})
    producer.init_transactions(20)
    producer.begin()
    producer.records.send(topic, None, b"first")
    assert producer.records.flush(20)
    assert own_broker.pid is not None
    os.kill(own_broker.pid, signal.SIGSTOP)
    try:
        for _ in range(10):
            producer.records.send(topic, None, b"under way")
        assert not producer.records.flush(0.5)
        producer.records.send(topic, None, b"behind them")
        assert cpu_seconds(lambda: producer.records.serve(1)) < 0.3
        assert cpu_seconds(lambda: producer.records.flush(2)) < 0.6
        sending = threading.Thread(target=producer.records.send, args=(topic, None, bytes(1000)))
        assert cpu_seconds(lambda: (sending.start(), sending.join(2))) < 0.6, "no room is left for another one"
        assert sending.is_alive()
    finally:
        os.kill(own_broker.pid, signal.SIGCONT)
    sending.join()
    producer.commit(20)
    assert producer.records.acknowledged == 13
    producer.close()


def cpu_seconds(call: Callable[[], object]) -> float:
    before = time.process_time()
    call()
    return time.process_time() - before
