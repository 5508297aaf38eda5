# SPDX-License-Identifier: Apache-2.0
"""The proxy of the fault runs before a real broker, and what a transactional producer makes of what it does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from faults.history import Outcome, transactions
from faults.proxy import Direction, How, Proxy, Trap
from faults.segments import batches
from faults.wire import Api
from headrace.broker.broker_files import storage_directory
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.broker.free_port import free_port
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import UncertainCommitError
from tests.support.topics import values

Behind = tuple[Proxy, EmbeddedBroker]


@pytest.fixture
def producer(behind: Behind, unique: str) -> Iterator[TransactionalProducer]:
    """Through the proxy, with the test's name as transactional and client id."""
    made = TransactionalProducer(
        {
            "bootstrap.servers": f"127.0.0.1:{behind[0].port}",
            "transactional.id": unique,
            "client.id": unique,
            "transaction.timeout.ms": "8000",
            "request.timeout.ms": "2000",
        }
    )
    made.init_transactions(30)
    yield made
    made.close()


def write(producer: TransactionalProducer, topic: str, *numbers: int) -> None:
    producer.begin()
    for number in numbers:
        producer.records.send(topic, None, b"%d" % number)


def test_what_comes_through_the_proxy_stays_behind_it(
    behind: Behind, producer: TransactionalProducer, unique: str
) -> None:
    proxy, broker = behind
    write(producer, unique, 0, 1)
    producer.commit(30)
    write(producer, unique, -1)
    producer.records.flush(30)
    producer.abort(30)
    assert values(broker.bootstrap_servers, unique) == [b"0", b"1"]
    # The coordinator's connection is made with an address that the broker has returned.
    assert proxy.last_request(Api.END_TXN, unique) > 0
    directory = storage_directory(broker.data_dir) / f"{unique}-0"
    assert [one.outcome for one in transactions(batches(directory))] == [Outcome.COMMIT, Outcome.ABORT]


def test_a_commit_that_arrives_within_the_next_transaction_cannot_end_it(
    behind: Behind, producer: TransactionalProducer, unique: str
) -> None:
    """Its connection is lost, the client sends it again and hears of success; KAFKA-17754 (invariant 5)."""
    proxy, broker = behind
    write(producer, unique, 0)
    trap = Trap(Api.END_TXN, unique, How.DELAY_REQUEST, 1.0)
    proxy.set(trap)
    producer.commit(30)
    assert trap.caught.is_set() and not trap.over.is_set()
    with pytest.raises(UncertainCommitError, match="lost its connection while it ended a transaction"):
        write(producer, unique, 1)
    assert trap.over.wait(10)
    assert values(broker.bootstrap_servers, unique) == [b"0"]


@pytest.mark.parametrize(("how", "seconds"), [(How.DROP_ANSWER, 0.0), (How.HOLD_ANSWER, 4.0)], ids=["lost", "late"])
def test_a_commit_whose_answer_does_not_come_is_done_but_taints(
    how: How, seconds: float, behind: Behind, producer: TransactionalProducer, unique: str
) -> None:
    proxy, broker = behind
    write(producer, unique, 0)
    proxy.set(Trap(Api.END_TXN, unique, how, seconds))
    producer.commit(30)
    assert values(broker.bootstrap_servers, unique) == [b"0"]
    with pytest.raises(UncertainCommitError):
        producer.begin()


def test_an_answer_within_its_time_is_only_late(behind: Behind, producer: TransactionalProducer, unique: str) -> None:
    proxy, broker = behind
    write(producer, unique, 0)
    proxy.set(Trap(Api.END_TXN, unique, How.HOLD_ANSWER, 0.7))
    began = time.monotonic()
    producer.commit(30)
    assert time.monotonic() - began > 0.6
    write(producer, unique, 1)
    producer.commit(30)
    assert values(broker.bootstrap_servers, unique) == [b"0", b"1"]


def test_a_delayed_request_is_released_by_the_next_request(
    behind: Behind, producer: TransactionalProducer, unique: str
) -> None:
    proxy, _ = behind
    trap = Trap(Api.END_TXN, unique, How.DELAY_REQUEST, 30.0, until=Api.END_TXN)
    proxy.set(trap)
    write(producer, unique, 0)
    producer.commit(30)
    assert trap.over.wait(5)


def test_a_removed_trap_has_no_effect(behind: Behind, producer: TransactionalProducer, unique: str) -> None:
    proxy, _ = behind
    trap = Trap(Api.END_TXN, unique, How.DROP_ANSWER, 0.0)
    proxy.set(trap)
    proxy.unset(trap)
    other = Trap(Api.END_TXN, "another client", How.DROP_ANSWER, 0.0)
    proxy.set(other)
    for number in range(2):
        write(producer, unique, number)
        producer.commit(30)
    proxy.unset(other)
    assert not trap.caught.is_set() and not other.caught.is_set()


@pytest.mark.parametrize("direction", Direction, ids=str)
def test_a_cut_lets_nothing_through_until_it_heals(
    direction: Direction, behind: Behind, producer: TransactionalProducer, unique: str
) -> None:
    proxy, broker = behind
    write(producer, unique, 0)
    producer.records.flush(30)
    proxy.cut(direction)
    commit = _in_background(lambda: producer.commit(30))
    commit.join(0.7)
    assert commit.is_alive()
    proxy.heal()
    commit.join(30)
    assert not commit.is_alive()
    assert values(broker.bootstrap_servers, unique) == [b"0"]


def test_without_the_broker_connections_are_refused(behind: Behind) -> None:
    with Proxy(free_port()) as lonely, pytest.raises(KafkaException):
        AdminClient({"bootstrap.servers": f"127.0.0.1:{lonely.port}", "log_level": 0}).list_topics(timeout=1)


def _in_background(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
