# SPDX-License-Identifier: Apache-2.0
"""Makes a connector's dead letter topic."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.config.connector_config import DLQ_REPLICATION_FACTOR, DeadLetterQueue
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec

_PREFIX = DLQ_REPLICATION_FACTOR.removesuffix(".replication.factor")


def create_dead_letter_topic(queue: DeadLetterQueue, admin: Mapping[str, str]) -> None:
    """Make the topic, of one partition as in Java, unless it exists; blocks up to the client's request timeout.

    ``admin`` are the properties of the connector's admin client. ConfigError, naming the property, for a replication
    factor that the cluster cannot do; RetriableKafkaError while brokers are away.
    """
    topics = TopicAdmin(admin)
    try:
        topics.create_topics([TopicSpec(queue.topic, 1, queue.replication_factor, prefix=_PREFIX)])
    finally:
        topics.close()
