# SPDX-License-Identifier: Apache-2.0
"""Creates the topics that a source task writes to before their first record (KIP-158).

That is before a batch joins a transaction, and no part of it.

Java: ``TopicCreation`` and ``AbstractWorkerSourceTask.maybeCreateTopic``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from headrace.api.errors import ConnectError, RetriableError
from headrace.config.topic_creation import TopicGroup
from headrace.kafka.admin.topic_admin import TopicDescription, TopicSpec
from headrace.kafka.errors import AuthorizationError
from headrace.model.backoff import ExponentialBackoff
from headrace.model.health import Stage
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.errors.retry_with_tolerance import StoppedWhileRetryingError
from headrace.task.source.source_batch import SourceBatch

log = logging.getLogger(__name__)
_BACKOFF: Final = ExponentialBackoff(0.1, 10.0)


class TopicClient(Protocol):
    """The part used of ``headrace.kafka.admin.topic_admin.TopicAdmin``."""

    def describe(self, topic: str) -> TopicDescription | None: ...

    def create_topics(self, specs: Sequence[TopicSpec]) -> set[str]: ...


class TopicCreation:
    """Creates topics that do not exist; each is looked up once in an attempt. The task's thread only."""

    def __init__(
        self,
        groups: Sequence[TopicGroup],
        create_client: Callable[[], TopicClient],
        wait_for_stop: Callable[[float], bool],
        reports: ErrorReports | None = None,
    ) -> None:
        """``groups`` are tried in order; one of them has to match any topic.

        ``create_client`` is called for the first topic that a task writes to.
        """
        self._groups = groups
        self._create_client = create_client
        self._client: TopicClient | None = None
        self._wait_for_stop = wait_for_stop
        self._reports = reports or ErrorReports()
        self._known: set[str] = set()

    def ensure_topics(self, batch: SourceBatch) -> SourceBatch:
        """Return the batch once the topics that it goes to exist; see ``ensure``. A step of batches."""
        for each in batch.topic_batches:
            self.ensure(each.topic)
        return batch

    def ensure(self, topic: str) -> None:
        """Block until the topic exists; while brokers are not available that is tried again, for as long as it takes.

        StoppedWhileRetryingError if the task is to stop first. ConnectError if the topic does not exist and cannot be
        created, ConfigError if that is for what its group says.
        """
        pauses = _BACKOFF.pauses()
        while topic not in self._known:
            try:
                self._look_up_or_create(topic)
                self._reports.succeeded(f"a search for topic '{topic}'")
            except RetriableError as error:
                pause = next(pauses)
                line = f"topic '{topic}' is looked for again in {pause:.1f} s: {error}"
                self._reports.retried(f"a search for topic '{topic}'", Stage.PRODUCING, error, line, delay=pause)
                if self._wait_for_stop(pause):
                    raise StoppedWhileRetryingError(f"the task stops before topic '{topic}' was found") from error

    def _look_up_or_create(self, topic: str) -> None:
        self._client = client = self._client or self._create_client()
        if not _exists(client, topic):
            self._create(client, topic)
        self._known.add(topic)

    def _create(self, client: TopicClient, topic: str) -> None:
        group = next(group for group in self._groups if group.matches(topic))
        spec = TopicSpec(topic, group.partitions, group.replication_factor, group.config, group.prefix)
        try:
            created = client.create_topics([spec])
        except AuthorizationError as error:
            raise ConnectError(
                f"Task failed to create new topic '{topic}', which is of group '{group.name}'. Ensure that the task "
                f"is authorized to create topics or that the topic exists and restart the task: {error}"
            ) from error
        if created:
            log.info(
                "created topic '%s' as %s.* says: partitions %d, replication factor %d, %s",
                *(topic, group.prefix, group.partitions, group.replication_factor, dict(group.config)),
            )


def _exists(client: TopicClient, topic: str) -> bool:
    try:
        return client.describe(topic) is not None
    except AuthorizationError as error:
        raise ConnectError(
            f"Task failed to look for topic '{topic}'. Ensure that the task is authorized to describe it and restart "
            f"the task: {error}"
        ) from error
