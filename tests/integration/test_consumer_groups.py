# SPDX-License-Identifier: Apache-2.0
"""Offsets of groups, on a broker of its own that has had no group yet."""

from __future__ import annotations

from pathlib import Path

from headrace.api.sink import TopicPartition
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec


def test_the_first_groups_of_a_cluster(tmp_path: Path) -> None:
    """A cluster without ``__consumer_offsets`` has no coordinator: librdkafka's request ended the process."""
    with EmbeddedBroker(tmp_path / "broker", port=0, jvm_options=QUICK_START_JVM_OPTIONS) as broker:
        props = {"bootstrap.servers": broker.bootstrap_servers}
        groups, topics = ConsumerGroups(props), TopicAdmin(props)
        assert groups.offsets("none") == {}
        topics.create_topics([TopicSpec("t", 2, 1)])
        topics.close()
        first, second = TopicPartition("t", 0), TopicPartition("t", 1)
        groups.alter_offsets("some", {first: 3, second: 0})
        assert groups.offsets("some") == {first: 3, second: 0}
        groups.delete_offsets("some", [first])
        assert groups.offsets("some") == {second: 0}
        groups.delete_offsets("none", [first])
        groups.delete_group("some")
        assert groups.offsets("some") == {}
