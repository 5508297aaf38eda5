# SPDX-License-Identifier: Apache-2.0
"""What a reader with read_committed sees of a topic, and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

_QUIET_S = 3.0


@dataclass(frozen=True, slots=True)
class Growth:
    """When (`time.monotonic`) the first records became visible and how many these were, and when the last did."""

    first: float
    first_records: int
    last: float


@contextmanager
def temporary_topic(bootstrap_servers: str, name: str, partitions: int = 1) -> Iterator[str]:
    """A topic for the length of the block."""
    admin = _admin(bootstrap_servers)
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
    try:
        yield name
    finally:
        admin.delete_topics([name])[name].result(30)


def await_growth(
    bootstrap_servers: str, topic: str, timeout: float, check: Callable[[], object], at_least: int = 1
) -> Growth:
    """Wait until `topic` has `at_least` so many records and has then not grown for three seconds, by its last stable
    offset.

    That offset costs next to nothing to ask for, unlike reading the records, which would slow down who writes them.
    `check` is called once a second and raises to give up.
    """
    admin = _admin(bootstrap_servers)
    deadline = time.monotonic() + timeout
    offset, first, first_records, last, checked = 0, 0.0, 0, 0.0, time.monotonic()
    while True:
        seen = _last_stable_offset(admin, topic)
        now = time.monotonic()
        if seen > offset:
            if not offset:
                first, first_records = now, seen - 1  # one offset is the transaction's marker
            offset, last = seen, now
        if first and offset >= at_least and now - last > _QUIET_S:
            return Growth(first, first_records, last)
        if now > deadline:
            raise RuntimeError(f"{topic} did not become complete within {timeout} s; last stable offset {offset}")
        if now - checked > 1:
            check()
            checked = now
        time.sleep(0.005)


def await_first(bootstrap_servers: str, topic: str, timeout: float = 120) -> float:
    """The time (`time.monotonic`) at which `topic` has a first visible record."""
    admin = _admin(bootstrap_servers)
    deadline = time.monotonic() + timeout
    while _last_stable_offset(admin, topic) == 0:
        if time.monotonic() > deadline:
            raise RuntimeError(f"no record in {topic} after {timeout} s")
        time.sleep(0.002)
    return time.monotonic()


def write_offsets(bootstrap_servers: str, topic: str, connector: str, count: int) -> None:
    """Fill an offsets topic as a source connector that follows `count` files would."""
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random", "linger.ms": 50, "log_level": 0}
    )
    for number in range(count):
        producer.produce(topic, f'{{"position":{number}}}', f'["{connector}",{{"filename":"/data/file-{number}.txt"}}]')
        producer.poll(0)
    if producer.flush(60):
        raise RuntimeError(f"{topic} could not be filled")


def _admin(bootstrap_servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})


def _last_stable_offset(admin: AdminClient, topic: str) -> int:
    partition = TopicPartition(topic, 0)
    asked = admin.list_offsets({partition: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED)
    try:
        return int(asked[partition].result(10).offset)
    except KafkaException:
        return 0


def count_records(bootstrap_servers: str, topic: str, expected: int) -> int:
    """The number of visible records, read up to the last stable offset."""
    end = _last_stable_offset(_admin(bootstrap_servers), topic)
    count = 0
    with _reader(bootstrap_servers, topic, {"enable.partition.eof": True}) as consumer:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            messages = consumer.consume(10_000, timeout=1)
            count += sum(message.error() is None for message in messages)
            if count >= expected and consumer.position([TopicPartition(topic, 0)])[0].offset >= end - 1:
                break
            if any(message.error() is not None for message in messages):
                break
    return count


def first_value(bootstrap_servers: str, topic: str) -> bytes | None:
    """The value of the first visible record."""
    with _reader(bootstrap_servers, topic, {}) as consumer:
        message = consumer.poll(30)
        return None if message is None or message.error() else message.value()


def committed_values(bootstrap_servers: str, topic: str, partitions: int) -> Iterator[bytes | None]:
    """Yield the values of all visible records, in the order of each partition."""
    with _reader(bootstrap_servers, topic, {"enable.partition.eof": True}, partitions) as consumer:
        ends = 0
        while ends < partitions:
            for message in consumer.consume(10_000, timeout=1):
                if message.error() is None:
                    yield message.value()
                else:
                    ends += 1


@contextmanager
def receiving(bootstrap_servers: str, topic: str, receive: Callable[[Message, float], None]) -> Iterator[None]:
    """Call `receive(message, time.time())` for each visible record, in a thread, while the block runs."""
    over = threading.Event()

    def run() -> None:
        with _reader(bootstrap_servers, topic, {"fetch.wait.max.ms": 100}) as consumer:
            while not over.is_set():
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    receive(message, time.time())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _reader(bootstrap_servers: str, topic: str, settings: dict[str, object], partitions: int = 1) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "bench-reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
            **settings,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    try:
        yield consumer
    finally:
        consumer.close()
