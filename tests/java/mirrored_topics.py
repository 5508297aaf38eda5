# SPDX-License-Identifier: Apache-2.0
"""Topics of one Kafka cluster and their copies in another, and MirrorMaker's connectors between the two."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from tests.support.polling import wait_for
from tests.support.topics import Read, read, read_committed

PARTITIONS: Final = 3
IDENTITY: Final = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_TRANSACTION: Final = 10
"""Records in each transaction; every fourth is aborted."""
_ODD: Final = (b"", None, b"\x00\xff\xfe", "ключ".encode(), b'{"a": 1}')
_OLD_MS: Final = 1_600_000_000_000


@dataclass(frozen=True)
class Clusters:
    """The bootstrap servers of the cluster that is copied, and of the one that has the copies."""

    source: str
    target: str

    def config(self, kind: str, **more: str) -> dict[str, str]:
        """The properties of a connector of MirrorMaker: the converters are other ones than the worker's."""
        return {
            "connector.class": f"org.apache.kafka.connect.mirror.Mirror{kind}Connector",
            "source.cluster.alias": "a",
            "target.cluster.alias": "b",
            "source.cluster.bootstrap.servers": self.source,
            "target.cluster.bootstrap.servers": self.target,
            **dict.fromkeys(("key.converter", "value.converter", "header.converter"), _BYTES),
            "replication.factor": "1",
            **{f"{topic}.topic.replication.factor": "1" for topic in ("offset-syncs", "checkpoints", "heartbeats")},
            **more,
        }

    def source_config(self, topic: str, **more: str) -> dict[str, str]:
        """The properties of a MirrorSourceConnector whose copies are exactly-once, and that looks often."""
        return self.config(
            "Source",
            **{
                "topics": topic,
                "exactly.once.support": "required",
                "consumer.isolation.level": "read_committed",
                "consumer.max.poll.records": "100",
                "refresh.topics.interval.seconds": "1",
                "sync.topic.configs.interval.seconds": "1",
                "offset.lag.max": "10",
                **more,
            },
        )

    def copied(self, topic: str) -> list[Read]:
        """The records of a topic, without their offsets: what each of its copies has to be."""
        return contents(self.source, topic)

    def wait_for_copy(self, topic: str, copy: str, seconds: float = 120) -> None:
        """Wait for as many records as the topic has, or more; AssertionError if the copy is another one."""
        expected = self.copied(topic)
        wait_for_count(self.target, copy, len(expected), seconds)
        assert_same(contents(self.target, copy), expected)


def contents(bootstrap: str, topic: str) -> list[Read]:
    """What a read_committed consumer sees: partition by partition, in order, without offsets."""
    return [replace(record, offset=0) for record in read_committed(bootstrap, topic)]


def wait_for_count(bootstrap: str, topic: str, count: int, seconds: float = 120) -> int:
    """The number of visible records, as soon as there are ``count`` or more."""
    seen = [0]

    def enough() -> bool:
        seen[0] = len(read_committed(bootstrap, topic))
        return seen[0] >= count

    wait_for(enough, seconds, lambda: f"{count} records in {topic}: {seen[0]} are there")
    return seen[0]


def assert_same(seen: Sequence[Read], expected: Sequence[Read]) -> None:
    """Each record once, in order, with key, value, headers, timestamp and partition."""
    wrong = [pair for pair in zip(seen, expected, strict=False) if pair[0] != pair[1]]
    assert not wrong, f"{len(wrong)} records differ, the first from what was written: {wrong[0]}"
    assert len(seen) == len(expected)


def write(bootstrap: str, topic: str, first: int, count: int) -> None:
    """Write odd records in transactions, some of which are aborted, and the last one in a committed one."""
    chance = random.Random(first)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"writes-{topic}-{first}"})
    producer.init_transactions(60)
    for begin in range(first, first + count, _TRANSACTION):
        producer.begin_transaction()
        for number in range(begin, begin + _TRANSACTION):
            headers = [(name, chance.choice(_ODD)) for name in chance.choices("abc", k=number % 4)]
            producer.produce(
                topic,
                chance.choice((None, b"%d" % number)),
                chance.choice((*_ODD, b"key %d" % number)),
                partition=number % PARTITIONS,
                timestamp=_OLD_MS + number,
                headers=[("number", b"%d" % number), *headers],
            )
            producer.poll(0)
        if begin // _TRANSACTION % 4 == 1 and begin + _TRANSACTION < first + count:
            producer.flush(60)  # else the client may abort before the broker knows of the transaction
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)


@contextmanager
def writing(bootstrap: str, topic: str, pause: float = 0) -> Iterator[None]:
    """Within the context such records are written, 100 after each pause of so many seconds."""
    ended = threading.Event()

    def write_on() -> None:
        for first in itertools.count(0, 100):
            if ended.wait(pause):
                return
            write(bootstrap, topic, first, 100)

    with ThreadPoolExecutor(1) as thread:
        written = thread.submit(write_on)
        try:
            yield
        finally:
            ended.set()
        written.result()


def topic_config(bootstrap: str, topic: str) -> Mapping[str, str]:
    """The values of a topic's properties."""
    resource, admin = ConfigResource(ConfigResource.Type.TOPIC, topic), AdminClient({"bootstrap.servers": bootstrap})
    found = admin.describe_configs([resource])[resource].result(30)
    return {name: entry.value for name, entry in found.items()}


def set_topic_config(bootstrap: str, topic: str, name: str, value: str) -> None:
    """Change a property of a topic."""
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource, admin = ConfigResource(ConfigResource.Type.TOPIC, topic), AdminClient({"bootstrap.servers": bootstrap})
    resource.add_incremental_config(entry)
    admin.incremental_alter_configs([resource])[resource].result(30)


def consumer(bootstrap: str, group: str) -> Consumer:
    """A consumer that commits nothing by itself, and begins at the start without committed offsets."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )


def rest_of(bootstrap: str, group: str, topic: str, last: Collection[int]) -> list[Read]:
    """Return what a new member of a group gets of a topic, until it has records with all these numbers."""
    reading, seen, missing = consumer(bootstrap, group), list[Read](), set(last)

    def all_there() -> bool:
        for message in reading.consume(1_000, timeout=0.2):
            seen.append(read(message))
            missing.discard(number_of(seen[-1]))
        return not missing

    reading.subscribe([topic])
    try:
        wait_for(all_there, 60, lambda: f"the records {missing} of {topic}: {len(seen)} others are there")
    finally:
        reading.close()
    return seen


def commit(bootstrap: str, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Commit a group's offsets by partition; it has no members."""
    committing = consumer(bootstrap, group)
    committing.commit(offsets=[TopicPartition(topic, *each) for each in offsets.items()], asynchronous=False)
    committing.close()


def number_of(record: Read) -> int:
    """The number that a record was written with."""
    return int(dict(record.headers)["number"] or b"")
