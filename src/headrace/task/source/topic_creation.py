# SPDX-License-Identifier: Apache-2.0
"""Topics that a source task writes to are there before their first record (KIP-158).

They are made before a batch joins a transaction, which knows nothing of it.

Java: ``TopicCreation`` and ``AbstractWorkerSourceTask.maybeCreateTopic``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from headrace.api.errors import ConnectError, RetriableError
from headrace.config.topic_creation import TopicGroup
from headrace.kafka.admin.topic_admin import TopicDescription, TopicSpec
from headrace.kafka.errors import AuthorizationError
from headrace.task.errors.retry_with_tolerance import StoppedWhileRetryingError
from headrace.task.source.source_batch import SourceBatch

_log = logging.getLogger(__name__)
_FIRST_BACKOFF = 0.1
_LONGEST_BACKOFF = 10.0


class Topics(Protocol):
    """What is needed of ``headrace.kafka.admin.topic_admin.TopicAdmin``."""

    def describe(self, topic: str) -> TopicDescription | None: ...

    def create_topics(self, specs: Sequence[TopicSpec]) -> set[str]: ...


class TopicCreation:
    """Makes topics that do not exist; each is looked for once in an attempt. The task's thread only."""

    def __init__(
        self, groups: Sequence[TopicGroup], topics: Callable[[], Topics], wait_for_stop: Callable[[float], bool]
    ) -> None:
        """``groups`` in the order in which they are tried, one of which has to match any topic.

        ``topics`` makes the client; it is called with the first topic that a task writes to.
        """
        self._groups = groups
        self._make_client = topics
        self._client: Topics | None = None
        self._wait_for_stop = wait_for_stop
        self._known: set[str] = set()

    def step(self, batch: SourceBatch) -> SourceBatch:
        """Return the batch when the topics that it goes to are there; see ``ensure``."""
        for topic in batch.topics:
            self.ensure(topic.topic)
        return batch

    def ensure(self, topic: str) -> None:
        """Blocks until the topic is there; while brokers are away that is tried again, for as long as it takes.

        StoppedWhileRetryingError if the task is to stop first. ConnectError if the topic is not there and cannot be
        made, ConfigError if that is for what its group says.
        """
        backoff = _FIRST_BACKOFF
        while topic not in self._known:
            try:
                self._look_or_make(topic)
            except RetriableError as error:
                _log.warning("topic '%s' is looked for again in %.1f s: %s", topic, backoff, error)
                if self._wait_for_stop(backoff):
                    raise StoppedWhileRetryingError(f"the task stops before topic '{topic}' was found") from error
                backoff = min(backoff * 2, _LONGEST_BACKOFF)

    def _look_or_make(self, topic: str) -> None:
        self._client = client = self._client or self._make_client()
        if not _exists(client, topic):
            self._make(client, topic)
        self._known.add(topic)

    def _make(self, client: Topics, topic: str) -> None:
        group = next(group for group in self._groups if group.matches(topic))
        spec = TopicSpec(topic, group.partitions, group.replication_factor, group.config, group.prefix)
        try:
            made = client.create_topics([spec])
        except AuthorizationError as error:
            raise ConnectError(
                f"Task failed to create new topic '{topic}', which is of group '{group.name}'. Ensure that the task "
                f"is authorized to create topics or that the topic exists and restart the task: {error}"
            ) from error
        if made:
            _log.info(
                "created topic '%s' as %s.* says: partitions %d, replication factor %d, %s",
                *(topic, group.prefix, group.partitions, group.replication_factor, dict(group.config)),
            )


def _exists(client: Topics, topic: str) -> bool:
    try:
        return client.describe(topic) is not None
    except AuthorizationError as error:
        raise ConnectError(
            f"Task failed to look for topic '{topic}'. Ensure that the task is authorized to describe it and restart "
            f"the task: {error}"
        ) from error
