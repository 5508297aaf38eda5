# SPDX-License-Identifier: Apache-2.0
"""The reader of raw records on a real broker: from where, until when, and which records."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from headrace.api.record import TimestampType
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.data.topic_reader import ReadLimits, ReadRecords, TopicReader
from headrace.model.deadline import Deadline
from tests.support.sinks import make_topic, numbers, send

pytestmark = pytest.mark.integration


@pytest.fixture
def reader(broker: EmbeddedBroker, unique: str) -> Iterator[TopicReader]:
    opened = TopicReader({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"no-group-{unique}"}, unique)
    yield opened
    opened.close()


def limits(records: int = 100, size: int = 1 << 20, seconds: float = 60) -> ReadLimits:
    return ReadLimits(records, size, Deadline.after(seconds))


def values(read: ReadRecords) -> list[bytes | None]:
    return [record.value for record in read.records]


def send_in_transaction(broker: EmbeddedBroker, topic: str, first: int, count: int, *, commit: bool = True) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"{topic}-{first}"})
    producer.init_transactions(60)
    producer.begin_transaction()
    for value in numbers(first, count):
        producer.produce(topic, value, partition=0)
    producer.flush(30)
    if commit:
        producer.commit_transaction(60)
    else:
        producer.abort_transaction(60)


def test_it_reads_from_offsets_to_the_ends(broker: EmbeddedBroker, unique: str, reader: TopicReader) -> None:
    make_topic(broker.bootstrap_servers, unique, 2)
    send(broker.bootstrap_servers, unique, numbers(0, 10), 0)
    send(
        broker.bootstrap_servers,
        unique,
        numbers(10, 5),
        1,
        key=b"k",
        headers=[("h", b"1"), ("n", None)],
        timestamp=7000,
    )
    assert reader.bounds([0, 1], Deadline.after(60)) == {0: (0, 10), 1: (0, 5)}
    read = reader.read({0: 7, 1: 0}, limits())
    assert read.at_end and read.positions == {0: 10, 1: 5}
    assert sorted(int(value or b"") for value in values(read)) == [7, 8, 9, 10, 11, 12, 13, 14]
    first = next(record for record in read.records if record.partition == 1)
    assert (first.topic, first.offset, first.key, first.value) == (unique, 0, b"k", b"10")
    assert (first.timestamp, first.timestamp_type) == (7000, TimestampType.CREATE_TIME)
    assert first.headers == (("h", b"1"), ("n", None))


def test_limits_end_it_and_positions_continue_it(broker: EmbeddedBroker, unique: str, reader: TopicReader) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 10))
    first = reader.read({0: 0}, limits(records=4))
    assert values(first) == numbers(0, 4) and first.positions == {0: 4} and not first.at_end
    second = reader.read(first.positions, limits(size=3))
    assert values(second) == numbers(4, 3) and second.positions == {0: 7}
    assert values(reader.read(second.positions, limits())) == numbers(7, 3)


def test_only_committed_records_are_read_and_markers_passed(
    broker: EmbeddedBroker, unique: str, reader: TopicReader
) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send_in_transaction(broker, unique, 0, 2)
    send_in_transaction(broker, unique, 2, 2, commit=False)
    for n in range(4, 8):
        send_in_transaction(broker, unique, n, 1)
    read = reader.read({0: 0}, limits())
    assert values(read) == [b"0", b"1", b"4", b"5", b"6", b"7"]
    assert read.positions == {0: 14} and read.at_end
    assert values(reader.tail([0], limits(records=5))) == [b"1", b"4", b"5", b"6", b"7"]


def test_an_open_transaction_is_the_end(broker: EmbeddedBroker, unique: str, reader: TopicReader) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 3))
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": unique})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(unique, b"open", partition=0)
    producer.flush(30)
    read = reader.read({0: 0}, limits())
    assert values(read) == numbers(0, 3) and read.at_end
    assert values(reader.tail([0], limits(records=1))) == [b"2"]
    producer.commit_transaction(60)
    assert values(reader.read(read.positions, limits(), follow=True)) == [b"open"]


def test_the_tail_is_of_all_partitions_by_timestamp(broker: EmbeddedBroker, unique: str, reader: TopicReader) -> None:
    make_topic(broker.bootstrap_servers, unique, 3)
    for n in range(12):
        send(broker.bootstrap_servers, unique, numbers(n, 1), n % 2, timestamp=1000 + n)
    read = reader.tail([0, 1, 2], limits(records=5))
    assert values(read) == numbers(7, 5)
    assert read.positions == {0: 6, 1: 6, 2: 0} and read.at_end
    assert values(reader.tail([2], limits(records=5))) == []


def test_following_waits_for_the_next_record_or_the_deadline(
    broker: EmbeddedBroker, unique: str, reader: TopicReader
) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 1))
    nothing = reader.read({0: 1}, limits(seconds=1), follow=True)
    assert nothing.records == () and nothing.positions == {0: 1}
    later = threading.Timer(0.5, send, (broker.bootstrap_servers, unique, numbers(1, 1)))
    later.start()
    began = time.monotonic()
    assert values(reader.read({0: 1}, limits(), follow=True)) == numbers(1, 1)
    assert time.monotonic() - began < 40  # by the record, not by the deadline
    later.join()


def test_positions_outside_are_moved_to_the_bounds(broker: EmbeddedBroker, unique: str, reader: TopicReader) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 3))
    beyond = reader.read({0: 1000}, limits())
    assert beyond.records == () and beyond.positions == {0: 3}
    assert values(reader.read({0: -5}, limits())) == numbers(0, 3)


def test_nothing_is_committed_and_no_group_is_there(broker: EmbeddedBroker, unique: str, reader: TopicReader) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 3))
    reader.read({0: 0}, limits())
    reader.close()
    groups = ConsumerGroups({"bootstrap.servers": broker.bootstrap_servers})
    for group in (f"no-group-{unique}", "headrace"):
        assert unique not in {where.topic for where in groups.offsets(group)}
