# SPDX-License-Identifier: Apache-2.0
"""Ids of topics, which distinguish a topic from earlier ones of its name (KIP-516)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.kafka.errors import RetriableKafkaError

if TYPE_CHECKING:
    from headrace.kafka.admin.topic_admin import TopicAdmin


class TopicIds:
    """A lookup of topic ids at the brokers, for one thread."""

    def __init__(self, props: Mapping[str, str]) -> None:
        """``props`` are Java-style client properties."""
        self._props = props
        self._admin: TopicAdmin | None = None

    def __call__(self, topic: str) -> str:
        """Return the id of ``topic``, for ``SinkTaskContext.topic_id``. RetriableKafkaError if it does not exist."""
        if self._admin is None:
            # Few tasks need it, and the admin client is slow to import.
            from headrace.kafka.admin.topic_admin import TopicAdmin

            self._admin = TopicAdmin(self._props)
        found = self._admin.describe(topic)
        if found is None:
            raise RetriableKafkaError(f"Topic '{topic}' does not exist")
        return found.id
