# SPDX-License-Identifier: Apache-2.0
"""Statuses that live as long as the process. Java: ``MemoryStatusBackingStore``."""

from __future__ import annotations

import threading

from headrace.model.ids import ConnectorTaskId
from headrace.model.status import ConnectorStatus, TaskStatus, TopicStatus


class MemoryStatusBackingStore:
    """The latest statuses of connectors, tasks and the topics they use. Thread-safe; nothing blocks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connectors: dict[str, ConnectorStatus] = {}
        self._tasks: dict[ConnectorTaskId, TaskStatus] = {}
        self._topics: dict[str, dict[str, TopicStatus]] = {}

    # ---- writes

    def put(self, status: ConnectorStatus | TaskStatus) -> None:
        with self._lock:
            if isinstance(status, TaskStatus):
                self._tasks[status.id] = status
            else:
                self._connectors[status.connector] = status

    def put_topic(self, status: TopicStatus) -> None:
        """Record that a connector uses a topic (KIP-558)."""
        with self._lock:
            self._topics.setdefault(status.connector, {})[status.topic] = status

    def delete_topic(self, connector: str, topic: str) -> None:
        """Remove the topic from those that the connector uses."""
        with self._lock:
            self._topics.get(connector, {}).pop(topic, None)

    def delete_tasks(self, connector: str, remaining: int = 0) -> None:
        """Remove the statuses of a connector's tasks, but for the first ``remaining``."""
        with self._lock:
            for id in [id for id in self._tasks if id.connector == connector and id.task >= remaining]:
                del self._tasks[id]

    def delete(self, connector: str) -> None:
        """Remove all statuses of a connector, its tasks and its topics."""
        self.delete_tasks(connector)
        with self._lock:
            self._connectors.pop(connector, None)
            self._topics.pop(connector, None)

    # ---- reads

    def connector(self, name: str) -> ConnectorStatus | None:
        return self._connectors.get(name)

    def task(self, id: ConnectorTaskId) -> TaskStatus | None:
        return self._tasks.get(id)

    def tasks(self, connector: str) -> tuple[TaskStatus, ...]:
        """Return the statuses of the connector's tasks, in order."""
        with self._lock:
            return tuple(self._tasks[id] for id in sorted(self._tasks) if id.connector == connector)

    def topics(self, connector: str) -> tuple[TopicStatus, ...]:
        """Return the topics that the connector uses, sorted."""
        with self._lock:
            found = self._topics.get(connector, {})
            return tuple(found[topic] for topic in sorted(found))
