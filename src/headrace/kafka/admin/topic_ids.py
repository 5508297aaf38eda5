# SPDX-License-Identifier: Apache-2.0
"""Which of all the topics that have ever had a name is the one of now (KIP-516)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.kafka.errors import RetriableKafkaError

if TYPE_CHECKING:
    from headrace.kafka.admin.topic_admin import TopicAdmin


class TopicIds:
    """Asks the brokers. One thread's only."""

    def __init__(self, props: Mapping[str, str]) -> None:
        """``props`` are Java-style client properties."""
        self._props = props
        self._admin: TopicAdmin | None = None

    def __call__(self, topic: str) -> str:
        """`SinkTaskContext.topic_id`."""
        if self._admin is None:
            # Few tasks ask, and the admin client takes time to import.
            from headrace.kafka.admin.topic_admin import TopicAdmin

            self._admin = TopicAdmin(self._props)
        found = self._admin.describe(topic)
        if found is None:
            raise RetriableKafkaError(f"Topic '{topic}' does not exist")
        return found.id
