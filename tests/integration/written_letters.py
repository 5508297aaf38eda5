# SPDX-License-Identifier: Apache-2.0
"""A connector with dead letters that a test has written, and redrives of them without a worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing

from confluent_kafka import Consumer, TopicPartition

from headrace.config import client_configs
from headrace.config.worker_config import WorkerConfig
from headrace.inspection.dead_letters.letter import Letter
from headrace.inspection.dead_letters.letter_topic import LetterTopic
from headrace.inspection.dead_letters.redrive import Redrive
from headrace.inspection.dead_letters.redrive_rules import Action, LetterRequest, Outcome, original_record
from tests.support.polling import wait_for
from tests.support.sinks import make_topic, send
from tests.support.topics import Read, read_committed

P = "__connect.errors."
CONVERTERS = ("key.converter", "value.converter")


class Dead:
    """A connector with letters about records of its topic."""

    def __init__(self, bootstrap: str, name: str, topic: str | None = None) -> None:
        """``topic`` is that of the connector and, with ``-dead``, of its letters; by default its name."""
        self.bootstrap, self.name, self.read = bootstrap, name, topic or name
        self.dead = f"{self.read}-dead"
        self.timestamp = time.time_ns() // 1_000_000 - 123_456
        self.config = {"name": name, "topics": self.read, "errors.deadletterqueue.topic.name": self.dead}
        self.worker = WorkerConfig({"bootstrap.servers": bootstrap, **dict.fromkeys(CONVERTERS, "JsonConverter")})
        for topic in (self.read, self.dead):
            make_topic(bootstrap, topic, 2)

    def write(self, *values: bytes, stage: str = "VALUE_CONVERTER", partition: int = 0, **more: bytes) -> None:
        headers = [("own", b"1"), (P + "topic", self.read.encode()), (P + "partition", b"1")]
        headers += [(P + "stage", stage.encode()), *more.items()]
        send(self.bootstrap, self.dead, values, partition, key=b"k", headers=headers, timestamp=self.timestamp)

    def redrive(
        self,
        request: LetterRequest | None = None,
        redriver: Callable[[Sequence[Letter]], Sequence[Outcome]] | None = None,
    ) -> Redrive:
        request = request or LetterRequest(Action.REDRIVE)
        plain = redriver or (lambda found: [original_record(x, request.to_topic, self.read.__eq__) for x in found])
        producer = client_configs.redrive_producer(self.worker, self.config)
        return Redrive(self.topic(), request, plain, producer)

    def topic(self) -> LetterTopic:
        return LetterTopic(self.worker, self.config)

    def pending(self) -> list[bytes | None]:
        self._settle()
        topic = self.topic()
        return [letter.record.value for letter in topic.letters(topic.pending())]

    def redriven(self) -> list[Read]:
        self._settle()
        return read_committed(self.bootstrap, self.read)

    def _settle(self) -> None:
        """Wait for the markers of transactions: their brokers write them after the answer to the producer."""
        levels = ("read_committed", "read_uncommitted")
        wait_for(lambda: len({self._ends(level) for level in levels}) == 1, 30, "markers of transactions")

    def _ends(self, isolation_level: str) -> tuple[int, ...]:
        client = {"bootstrap.servers": self.bootstrap, "group.id": "none", "isolation.level": isolation_level}
        with closing(Consumer(client)) as consumer:
            topics = consumer.list_topics(timeout=30).topics
            places = [TopicPartition(each, p) for each in (self.read, self.dead) for p in topics[each].partitions]
            return tuple(consumer.get_watermark_offsets(place, timeout=30)[1] for place in places)
