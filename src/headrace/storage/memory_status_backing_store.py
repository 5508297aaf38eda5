# SPDX-License-Identifier: Apache-2.0
"""Statuses that live as long as the process. Java: ``MemoryStatusBackingStore``."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, TaskStatus, TopicStatus
from headrace.storage.status_records import OnStatusUpdate, Status, StatusKey


class MemoryStatusBackingStore:
    """The latest statuses of connectors, tasks and the topics they use. Thread-safe; nothing blocks.

    ``on_update`` gets the key of each change on the thread that makes it, and must not block.
    """

    def __init__(self, on_update: OnStatusUpdate) -> None:
        self._lock = threading.Lock()
        self._statuses: dict[StatusKey, Status] = {}
        self._revision = 0
        self._on_update = on_update

    def flush(self, timeout: float) -> None:
        """Do nothing: no write is under way."""

    def refresh(self, timeout: float) -> None:
        """Do nothing: every write is known here."""

    # ---- writes

    def put(self, status: ConnectorStatus | TaskStatus) -> None:
        """Write a status."""
        status = replace(status, written_ms=int(time.time() * 1000))
        self._put(status.id if isinstance(status, TaskStatus) else status.connector, status)

    put_safe = put
    """No other worker has written a status."""

    def put_topic(self, status: TopicStatus) -> None:
        """Record that a connector uses a topic (KIP-558)."""
        self._put((status.connector, status.topic), status)

    def delete(self, key: StatusKey) -> None:
        """Remove the status of a connector, of a task or of a topic that a connector uses."""
        with self._lock:
            self._statuses.pop(key, None)
            self._revision += 1
        self._on_update((key,))

    def _put(self, key: StatusKey, status: Status) -> None:
        with self._lock:
            self._statuses[key] = status
            self._revision += 1
        self._on_update((key,))

    # ---- reads

    def revision(self) -> int:
        """Return the number of changes."""
        return self._revision

    def connector(self, name: str) -> ConnectorStatus | None:
        status = self._statuses.get(name)
        return status if isinstance(status, ConnectorStatus) else None

    def task(self, id: ConnectorTaskId) -> TaskStatus | None:
        status = self._statuses.get(id)
        return status if isinstance(status, TaskStatus) else None

    def tasks(self, connector: str) -> tuple[TaskStatus, ...]:
        """Return the statuses of the connector's tasks, in order."""
        found = [each for each in self._all() if isinstance(each, TaskStatus) and each.id.connector == connector]
        return tuple(sorted(found, key=lambda status: status.id))

    def topics(self, connector: str) -> tuple[TopicStatus, ...]:
        """Return the topics that the connector uses, sorted."""
        found = [each for each in self._all() if isinstance(each, TopicStatus) and each.connector == connector]
        return tuple(sorted(found, key=lambda status: status.topic))

    def keys(self) -> tuple[StatusKey, ...]:
        """Return the keys of all statuses: connectors, tasks and topics."""
        with self._lock:
            return tuple(self._statuses)

    def contains(self, key: StatusKey) -> bool:
        """Return true if there is a status about ``key``."""
        return key in self._statuses

    def _all(self) -> tuple[Status, ...]:
        with self._lock:
            return tuple(self._statuses.values())
