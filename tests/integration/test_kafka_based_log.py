# SPDX-License-Identifier: Apache-2.0
"""The log against a real broker, with real transactions."""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.api.errors import ConfigError, ConnectError, DataError
from headrace.broker.broker_files import storage_directory
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from headrace.kafka.clients import client_config
from headrace.kafka.errors import KafkaClientError, RetriableKafkaError
from headrace.kafka.log.kafka_based_log import KafkaBasedLog, LogRecord
from tests.support.polling import wait_for


class Tail:
    """A log, and what it has handed out."""

    def __init__(self, bootstrap: str, topic: str, partitions: int = 3, read_only: bool = False) -> None:
        props = {"bootstrap.servers": bootstrap}
        self.records: list[LogRecord] = []
        self.error: Exception | None = None
        self.seconds_per_batch = 0.0
        self.log = KafkaBasedLog(
            topic,
            {**props, "isolation.level": "read_committed"},
            None if read_only else props,
            self._take,
            props,
            TopicSpec(topic, partitions, 1, {"cleanup.policy": "compact"}, "offset.storage"),
        )

    def _take(self, records: Sequence[LogRecord]) -> None:
        if self.error is not None:
            raise self.error
        time.sleep(self.seconds_per_batch)
        self.records.extend(records)

    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]

    def read(self, timeout: float = 20.0) -> None:
        self.log.read_to_end().result(timeout)


@pytest.fixture
def props(broker: Any) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.fixture
def topic() -> str:
    return f"log-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def open_tail(broker: Any, topic: str) -> Iterator[Callable[..., Tail]]:
    tails: list[Tail] = []

    def make(**options: Any) -> Tail:
        tail = Tail(broker.bootstrap_servers, topic, **options)
        tails.append(tail)
        tail.log.start()
        return tail

    yield make
    for tail in tails:
        tail.log.stop()


@pytest.fixture
def transactional(props: dict[str, str]) -> Callable[[], Any]:
    def make() -> Any:
        producer = client_config.producer({**props, "transactional.id": uuid.uuid4().hex, "linger.ms": "0"})
        producer.init_transactions(30)
        return producer

    return make


def test_what_is_sent_is_read_back(open_tail: Callable[..., Tail]) -> None:
    tail = open_tail()
    assert tail.log.partitions == (0, 1, 2)
    for n in range(20):
        tail.log.send(f"k{n}".encode(), f"v{n}".encode())
    tail.log.send(b"k0", None)
    tail.log.flush(10)
    tail.read()
    assert sorted(v for v in tail.values() if v) == sorted(f"v{n}".encode() for n in range(20))
    assert [r.value for r in tail.records if r.key == b"k0"] == [b"v0", None]


def test_a_later_reader_has_read_everything_when_it_starts(open_tail: Callable[..., Tail]) -> None:
    first = open_tail()
    for n in range(50):
        first.log.send(b"k", str(n).encode())
    first.log.flush(10)
    assert open_tail(read_only=True).values() == [str(n).encode() for n in range(50)]


def test_the_end_lies_behind_commit_markers(open_tail: Callable[..., Tail], transactional: Any, topic: str) -> None:
    tail, producer = open_tail(), transactional()
    for n in range(5):
        producer.begin_transaction()
        producer.produce(topic, str(n).encode(), b"k")
        producer.commit_transaction(10)
        tail.read()
        assert tail.values() == [str(i).encode() for i in range(n + 1)]


def test_known_ends_are_waited_for_without_asking(
    open_tail: Callable[..., Tail], transactional: Any, topic: str
) -> None:
    tail = open_tail(partitions=1)
    producer = transactional()
    producer.begin_transaction()
    producer.produce(topic, b"v", b"k", 0)
    producer.flush(10)
    reading = tail.log.read_up_to({0: 1})
    assert not reading.done()
    producer.commit_transaction(10)
    reading.result(20)
    assert tail.values() == [b"v"]
    tail.log.read_up_to({0: 1}).result(0.1)
    with pytest.raises(TimeoutError):
        tail.log.read_up_to({0: 3}).result(0.5)
    assert "read up to 2 of 3" in str(tail.log.waiting_for())


def test_an_end_that_came_with_records_is_reached_once_they_are_handed_out(props: dict[str, str], topic: str) -> None:
    """Else a reader goes on without the last records, though it has waited for the end (invariant 3)."""
    entered, go_on = threading.Semaphore(0), threading.Semaphore(0)

    def take(records: Sequence[LogRecord]) -> None:
        entered.release()
        assert go_on.acquire(timeout=30)

    log = KafkaBasedLog(topic, {**props, "fetch.max.wait.ms": "10"}, props, take, props, TopicSpec(topic, 1, 1))
    log.start()
    try:
        log.send(b"k", b"0")
        assert entered.acquire(timeout=20)
        log.send(b"k", b"1")
        log.flush(10)
        time.sleep(0.3)  # while the first record is being handed out, the second one and the end behind it arrive
        go_on.release()
        assert entered.acquire(timeout=20)
        reading = log.read_up_to({0: 2})
        assert not reading.done()
        go_on.release()
        reading.result(20)
    finally:
        go_on.release(10)
        log.stop()


def test_the_end_lies_behind_aborted_transactions(
    open_tail: Callable[..., Tail], transactional: Any, topic: str
) -> None:
    tail, producer = open_tail(), transactional()
    for _ in range(5):
        producer.begin_transaction()
        producer.produce(topic, b"never", b"k")
        producer.flush(10)
        producer.abort_transaction(10)
        started = time.monotonic()
        tail.read()
        assert time.monotonic() - started < 5
    assert tail.values() == []


def test_an_open_transaction_is_waited_for_and_named(
    open_tail: Callable[..., Tail], transactional: Any, topic: str
) -> None:
    """Invariant 3: the last stable offset would end the read before the transaction, and miss its records."""
    tail, producer = open_tail(), transactional()
    producer.begin_transaction()
    producer.produce(topic, b"late", b"k")
    producer.flush(10)
    reading = tail.log.read_to_end()
    with pytest.raises(TimeoutError):
        reading.result(0.7)
    waiting = tail.log.waiting_for()
    assert waiting is not None
    assert topic in waiting
    assert "open transaction" in waiting
    producer.commit_transaction(10)
    reading.result(10)
    assert tail.values() == [b"late"]
    assert tail.log.waiting_for() is None


def test_a_start_does_not_wait_for_an_open_transaction_and_a_read_does(
    open_tail: Callable[..., Tail], transactional: Any, topic: str
) -> None:
    """A killed worker's task may have left it open, and be started again only when its worker has started."""
    open_tail()
    producer = transactional()
    producer.begin_transaction()
    producer.produce(topic, b"late", b"k")
    producer.flush(10)
    second = open_tail(read_only=True)
    assert second.values() == []
    reading = second.log.read_to_end()
    producer.commit_transaction(10)
    reading.result(10)
    assert second.values() == [b"late"]


def test_compacted_ends_and_empty_partitions_are_ends(
    open_tail: Callable[..., Tail], props: dict[str, str], topic: str
) -> None:
    """Records before the end that are no more (here: deleted) must not be waited for."""
    from confluent_kafka import TopicPartition

    tail = open_tail(partitions=1)
    admin = client_config.admin_client(props)
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

    for n in range(3):
        tail.log.send(b"k", str(n).encode()).result(10)
    change = ConfigResource(
        "topic",
        topic,
        incremental_configs=[
            ConfigEntry("cleanup.policy", "compact,delete", incremental_operation=AlterConfigOpType.SET)
        ],
    )
    admin.incremental_alter_configs([change])[change].result(10)

    def deleted() -> bool:
        """Refused until the broker has heard of the policy, which the controller answers for."""
        try:
            admin.delete_records([TopicPartition(topic, 0, 3)])[TopicPartition(topic, 0)].result(10)
        except KafkaException as error:
            assert error.args[0].code() == KafkaError.POLICY_VIOLATION
            return False
        return True

    wait_for(deleted, 10, "the end of the records")
    records: list[LogRecord] = []
    later = KafkaBasedLog(topic, props, None, records.extend, props)
    try:
        later.start(timeout=20)
        assert records == []
    finally:
        later.stop()


def test_latency(open_tail: Callable[..., Tail]) -> None:
    tail = open_tail()
    tail.log.send(b"k", b"v").result(10)
    tail.read()

    def milliseconds(call: Callable[[], object]) -> float:
        times = []
        for _ in range(15):
            started = time.perf_counter()
            call()
            times.append((time.perf_counter() - started) * 1000)
        return statistics.median(times)

    idle = milliseconds(tail.read)

    def write_and_read() -> None:
        tail.log.send(b"k", b"v").result(10)
        tail.read()

    written = milliseconds(write_and_read)
    # Both are a few milliseconds on an idle machine; a log that polls or lingers takes 100 and more.
    assert idle < 50
    assert written < 75


def test_an_error_of_the_reader_fails_all_who_wait(open_tail: Callable[..., Tail]) -> None:
    tail = open_tail()
    tail.error = DataError("poison")
    tail.log.send(b"k", b"v").result(10)
    with pytest.raises(ConnectError, match="poison"):
        tail.read()
    with pytest.raises(ConnectError, match="poison"):
        tail.read()
    assert tail.log.failure() is tail.error


def test_a_start_that_took_too_long_is_made_again(broker: EmbeddedBroker, open_tail: Callable[..., Tail]) -> None:
    """A worker tries for as long as it takes."""
    first = open_tail()
    first.log.send(b"k", b"v").result(10)
    slow = Tail(broker.bootstrap_servers, first.log.topic)
    slow.seconds_per_batch = 1
    try:
        with pytest.raises(RetriableKafkaError, match="was not read to its end in 0 s"):
            slow.log.start(0)
        slow.seconds_per_batch = 0
        slow.log.start()
        slow.log.send(b"k", b"w").result(10)
        slow.read()
        assert slow.values()[-2:] == [b"v", b"w"] and slow.log.failure() is None
    finally:
        slow.log.stop()


def test_a_corrupt_record_is_not_left_out(broker: EmbeddedBroker, open_tail: Callable[..., Tail], topic: str) -> None:
    """Who starts with what lies around it would have half a view. In a process of its own: who only warns of it dies of
    an assertion of librdkafka's at the next fetch."""
    tail = open_tail(partitions=1)
    for n in range(5):
        tail.log.send(b"k%d" % n, b"value-%d" % n).result(10)
    [segment] = (storage_directory(broker.data_dir) / f"{topic}-0").glob("*.log")
    with segment.open("r+b") as file:
        file.seek(file.read().index(b"value-2"))
        file.write(b"V")
    reader = f"""
from headrace.kafka.log.kafka_based_log import KafkaBasedLog
props = {{"bootstrap.servers": "{broker.bootstrap_servers}"}}
log = KafkaBasedLog("{topic}", props, None, lambda records: None, props)
try:
    log.start(20)
except Exception as error:
    print(type(error).__name__, error)
"""
    reported = subprocess.run(
        [sys.executable, "-c", reader], capture_output=True, text=True, timeout=60, check=False
    ).stdout
    assert f"KafkaClientError Records cannot be read, and must not be left out: topic '{topic}' partition 0" in reported


def test_stop_fails_waiters_and_is_idempotent(open_tail: Callable[..., Tail], transactional: Any, topic: str) -> None:
    tail, producer = open_tail(), transactional()
    producer.begin_transaction()
    producer.produce(topic, b"late", b"k")
    producer.flush(10)
    reading = tail.log.read_to_end()
    started = time.monotonic()
    tail.log.stop()
    tail.log.stop()
    assert time.monotonic() - started < 10, "it waits for no transaction"
    with pytest.raises(KafkaClientError, match="stopped"):
        reading.result(1)
    with pytest.raises(KafkaClientError, match="stopped"):
        tail.log.send(b"k", b"v").result(1)
    producer.abort_transaction(10)


def test_many_threads_write_and_wait(open_tail: Callable[..., Tail]) -> None:
    tail = open_tail()
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for n in range(10):
                value = f"{name}-{n}".encode()
                tail.log.send(name.encode(), value).result(20)
                tail.read()
                assert value in tail.values()
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(str(n),)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_topic_that_is_not_compacted_is_refused(broker: Any, props: dict[str, str], topic: str) -> None:
    TopicAdmin(props).create_topics([TopicSpec(topic, 1, 1, {"cleanup.policy": "delete"})])
    with pytest.raises(ConfigError, match=rf"'{topic}' named by offset\.storage\.topic .*cleanup\.policy=delete"):
        Tail(broker.bootstrap_servers, topic).log.start()


def test_brokers_that_are_away_are_a_clear_error(topic: str) -> None:
    props = {"bootstrap.servers": "127.0.0.1:1", "request.timeout.ms": "500"}
    log = KafkaBasedLog(topic, props, None, lambda _: None, props)
    with pytest.raises(RetriableKafkaError, match=r"127\.0\.0\.1:1"):
        log.start()
