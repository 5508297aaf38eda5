# SPDX-License-Identifier: Apache-2.0
"""Which topics are looked for and made, when, and what becomes of those that cannot be."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.config.topic_creation import topic_groups
from headrace.kafka.admin.topic_admin import TopicDescription, TopicSpec
from headrace.kafka.errors import AuthorizationError, RetriableKafkaError
from headrace.task.errors.retry_with_tolerance import StoppedWhileRetryingError
from headrace.task.source.source_batch import SourceBatch, SteppedBatches
from headrace.task.source.topic_creation import TopicCreation
from headrace.task.topic_batch import TopicBatch

GROUPS = topic_groups(
    {
        "topic.creation.groups": "first,second",
        "topic.creation.first.include": "a.*",
        "topic.creation.first.exclude": "a-x",
        "topic.creation.first.cleanup.policy": "compact",
        "topic.creation.second.include": ".*a.*",
        "topic.creation.second.partitions": "9",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "-1",
    }
)


class Broker:
    """``TopicClient``; ``errors`` are raised by the next calls."""

    def __init__(self, *existing: str) -> None:
        self.existing = set(existing)
        self.asked: list[str] = []
        self.made: list[TopicSpec] = []
        self.errors: list[Exception] = []
        self.clients = 0

    def __call__(self) -> Broker:
        self.clients += 1
        return self

    def describe(self, topic: str) -> TopicDescription | None:
        self._raise()
        self.asked.append(topic)
        return TopicDescription(topic, (0,), 1) if topic in self.existing else None

    def create_topics(self, specs: Sequence[TopicSpec]) -> set[str]:
        self._raise()
        self.made.extend(specs)
        self.existing.update(spec.name for spec in specs)
        return {spec.name for spec in specs}

    def _raise(self) -> None:
        if self.errors:
            raise self.errors.pop(0)


def creation(broker: Broker, *stops: bool) -> tuple[TopicCreation, list[float]]:
    """And its waits; ``stops`` are the waits' answers."""
    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return len(stops) >= len(waited) and stops[len(waited) - 1]

    return TopicCreation(GROUPS, broker, wait), waited


def test_each_topic_is_made_by_the_first_group_that_matches() -> None:
    broker = Broker()
    made, _ = creation(broker)
    assert broker.clients == 0
    for topic in ("a-1", "a-x", "b", "a-1", "b"):
        made.ensure(topic)
    assert broker.asked == ["a-1", "a-x", "b"] and broker.clients == 1
    assert broker.made == [
        TopicSpec("a-1", 1, -1, {"cleanup.policy": "compact"}, "topic.creation.first"),
        TopicSpec("a-x", 9, -1, {}, "topic.creation.second"),
        TopicSpec("b", 1, -1, {}, "topic.creation.default"),
    ]


def test_existing_topics_are_left_alone() -> None:
    broker = Broker("t")
    creation(broker)[0].ensure("t")
    assert broker.made == []


def test_brokers_that_are_away_are_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    broker = Broker()
    made, waited = creation(broker)
    broker.errors = [RetriableKafkaError("away")] * 9
    with caplog.at_level(logging.WARNING):
        made.ensure("t")
    assert waited == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    assert [spec.name for spec in broker.made] == ["t"]
    assert "topic 't' is looked for again in 0.1 s: away" in caplog.text


def test_a_creation_whose_answer_is_lost_is_looked_for() -> None:
    """It may have happened."""
    broker = Broker()
    made, _ = creation(broker)
    made.ensure("b")
    lost = Broker()

    def create(specs: Sequence[TopicSpec]) -> set[str]:
        lost.existing.add(specs[0].name)
        raise RetriableKafkaError("timed out")

    lost.create_topics = create  # type: ignore[method-assign]
    creation(lost)[0].ensure("t")
    assert lost.asked == ["t", "t"]


def test_a_stop_ends_the_waiting() -> None:
    broker = Broker()
    made, waited = creation(broker, False, True)
    broker.errors = [RetriableKafkaError("away")] * 9
    with pytest.raises(StoppedWhileRetryingError):
        made.ensure("t")
    assert len(waited) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (0, r"look for topic 't'\. Ensure that the task is authorized to describe it"),
        (1, r"Task failed to create new topic 't', .* 'default'\. Ensure that the task is authorized to create topics"),
    ],
)
def test_missing_rights_are_reported_with_what_to_do(call: int, message: str) -> None:
    broker = Broker()
    made, _ = creation(broker)
    refused = AuthorizationError("no right")
    if call:
        broker.create_topics = lambda specs: (_ for _ in ()).throw(refused)  # type: ignore[assignment]
    else:
        broker.errors = [refused]
    with pytest.raises(ConnectError, match=message):
        made.ensure("t")


class Batches:
    def __init__(self) -> None:
        self.closed = False

    def convert(self, polled: Any) -> SourceBatch:
        return SourceBatch([TopicBatch("t"), TopicBatch("u")], {}, 2, dead_letters=TopicBatch("dead"))

    def take_rest(self) -> SourceBatch | None:
        return None if self.closed else SourceBatch([TopicBatch("v")], {}, 1)

    def close(self) -> None:
        self.closed = True


def test_a_batch_has_its_topics_when_it_is_handed_out() -> None:
    """But for that of dead letters, which the task has made at its start."""
    broker, inner = Broker(), Batches()
    batches = SteppedBatches(inner, creation(broker)[0].ensure_topics)
    assert [topic.topic for topic in batches.convert([]).topic_batches] == ["t", "u"]
    assert broker.existing == {"t", "u"}
    assert batches.take_rest() is not None
    assert broker.existing == {"t", "u", "v"}
    batches.close()
    assert inner.closed and batches.take_rest() is None
