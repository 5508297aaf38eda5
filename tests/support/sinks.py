# SPDX-License-Identifier: Apache-2.0
"""Topics to read, connectors that read them, and the offsets that they commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position

from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

Message = tuple[bytes | None, bytes | None]


def make_topic(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    admin = TopicAdmin({"bootstrap.servers": bootstrap})
    try:
        admin.create_topics([TopicSpec(topic, partitions, 1, config)])
    finally:
        admin.close()


def send(bootstrap: str, topic: str, values: Sequence[bytes | None], partition: int = 0, **more: Any) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for value in values:
        producer.produce(topic, value, partition=partition, **more)
        producer.poll(0)
    assert producer.flush(30) == 0


def numbers(first: int, count: int) -> list[bytes | None]:
    return [b"%d" % n for n in range(first, first + count)]


def create_sink(worker: WorkerProcess, name: str, topics: str, file: Path, **more: str) -> None:
    config = {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": topics, "file": str(file), **more}
    worker.create(name, **{key: value for key, value in config.items() if value})


def lines(file: Path) -> list[str]:
    return file.read_text().split("\n")[:-1] if file.exists() else []


def wait_for_lines(file: Path, count: int, seconds: float = 60) -> list[str]:
    wait_for(lambda: len(lines(file)) >= count, seconds, lambda: f"{count} lines: {len(lines(file))} are there")
    return lines(file)


def committed(bootstrap: str, group: str, topic: str, partitions: int = 1) -> dict[int, int]:
    """The group's offsets by partition, without those that there are not."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        found = consumer.committed([Position(topic, p) for p in range(partitions)], timeout=20)
    finally:
        consumer.close()
    return {each.partition: each.offset for each in found if each.offset >= 0}


def wait_for_committed(
    bootstrap: str, connector: str, topic: str, offsets: dict[int, int], seconds: float = 60
) -> None:
    seen: list[dict[int, int]] = []

    def there() -> bool:
        seen[:] = [committed(bootstrap, f"connect-{connector}", topic, max(offsets) + 1)]
        return seen[0] == offsets

    wait_for(there, seconds, lambda: f"offsets {offsets}: {seen}")


class Journal:
    """What the tasks of a `JournalSink` have written down."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        text = self.file.read_text() if self.file.exists() else ""
        events = [json.loads(line) for line in text.split("\n")[:-1]]
        return [event for event in events if not kinds or event["event"] in kinds]

    def records(self) -> list[dict[str, Any]]:
        return [record for event in self.events("put") for record in event["records"]]

    def values(self) -> list[str]:
        return [record["value"] for record in self.records()]

    def wait_for(self, kind: str, count: int = 1, seconds: float = 60) -> list[dict[str, Any]]:
        wait_for(lambda: len(self.events(kind)) >= count, seconds, lambda: f"{count} of {kind}: {self.events()[-20:]}")
        return self.events(kind)

    def wait_for_values(self, values: Sequence[str], seconds: float = 60) -> None:
        """Until each has been put at least once."""
        wait_for(lambda: set(values) <= set(self.values()), seconds, lambda: f"{len(values)}: {self.events()[-3:]}")


def create_journal_sink(worker: WorkerProcess, name: str, topics: str, journal: Journal, **more: str) -> None:
    own = {"connector.class": "journal_sink.JournalSinkConnector", "journal": str(journal.file), "tasks.max": "1"}
    config = {**own, "topics": topics, **more}
    worker.create(name, **{key: value for key, value in config.items() if value})
