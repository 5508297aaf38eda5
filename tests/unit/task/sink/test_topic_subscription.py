# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.kafka.errors import RetriableKafkaError
from headrace.model.ids import ConnectorTaskId
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.sink.topic_subscription import TopicSubscription


class Cluster:
    def __init__(self, *topics: str) -> None:
        self.topics = set(topics)
        self.error: Exception | None = None
        self.asked = 0

    def existing(self, topics: Sequence[str] | None) -> set[str]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.topics if topics is None else self.topics & set(topics)


def subscription(cluster: Cluster, clock: Any, **config: str) -> tuple[TopicSubscription, list[list[str]]]:
    subscribed: list[list[str]] = []
    parsed = SinkConnectorConfig({"name": "c", "connector.class": "C", **config})
    subscribe = lambda topics: subscribed.append(list(topics))  # noqa: E731
    return TopicSubscription(
        ConnectorTaskId("c", 0), parsed, ErrorReports(), cluster, subscribe, 300, clock
    ), subscribed


def test_named_topics_are_read_as_soon_as_they_exist(clock: Any, caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster("b")
    topics, subscribed = subscription(cluster, clock, topics="a,b")
    with caplog.at_level(logging.INFO):
        topics.refresh_if_due()
        topics.refresh_if_due()
        clock.now += 1
        topics.refresh_if_due()
    assert subscribed == [["b"]]
    assert cluster.asked == 2
    assert [r.message for r in caplog.records if r.levelno == logging.WARNING] == [
        "Task c-0 waits for topics that do not exist (yet): a"
    ]
    cluster.topics.add("a")
    clock.now += 1
    topics.refresh_if_due()
    assert subscribed == [["b"], ["a", "b"]]
    clock.now += 10_000
    topics.refresh_if_due()
    assert cluster.asked == 3


def test_topics_that_match_wholly_come_and_go(clock: Any) -> None:
    cluster = Cluster("a1", "a1-x", "xa1")
    topics, subscribed = subscription(cluster, clock, **{"topics.regex": r"a\d"})
    topics.refresh_if_due()
    cluster.topics = {"a1", "a2"}
    clock.now += 299
    topics.refresh_if_due()
    assert subscribed == [["a1"]]
    clock.now += 1
    topics.refresh_if_due()
    cluster.topics = set()
    clock.now += 300
    topics.refresh_if_due()
    assert subscribed == [["a1"], ["a1", "a2"], []]


def test_brokers_that_are_away_change_nothing(clock: Any, caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster("a")
    topics, subscribed = subscription(cluster, clock, topics="a")
    cluster.error = RetriableKafkaError("away")
    topics.refresh_if_due()
    clock.now += 1
    topics.refresh_if_due()
    assert subscribed == [] and topics.failing
    assert [record.message for record in caplog.records] == ["topics cannot be looked up: away"]
    cluster.error = None
    clock.now += 1
    topics.refresh_if_due()
    assert subscribed == [["a"]] and not topics.failing
