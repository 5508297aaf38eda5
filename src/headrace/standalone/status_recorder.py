# SPDX-License-Identifier: Apache-2.0
"""The statuses of a standalone worker's connectors and tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headrace.api.error_text import clean_text
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import State
from headrace.model.status import ConnectorStatus, TaskStatus, TopicStatus
from headrace.storage.memory_status_backing_store import MemoryStatusBackingStore
from headrace.worker.callbacks import Runnable

_GENERATION = 0
"""There is no group, so nothing is ever of an older generation."""


class StatusRecorder:
    """Implements ``headrace.worker.callbacks.StatusListener``; called on the worker's threads."""

    def __init__(self, store: MemoryStatusBackingStore, worker_id: str, track_topics: bool = True) -> None:
        """Record in ``store``; ``worker_id`` is host:port of the REST API."""
        self._store = store
        self._worker_id = worker_id
        self._track_topics = track_topics
        self.version_of: Callable[[Runnable], str | None] = lambda id: None
        """Set once, before anything is reported: the worker that knows versions is created with this recorder."""

    def on_startup(self, id: Runnable) -> None:
        self._put(id, State.RUNNING)

    def on_running(self, id: Runnable) -> None:
        self._put(id, State.RUNNING)

    def on_pause(self, id: Runnable) -> None:
        self._put(id, State.PAUSED)

    def on_stop(self, id: Runnable) -> None:
        self._put(id, State.STOPPED)

    def on_failure(self, id: Runnable, trace: str) -> None:
        self._put(id, State.FAILED, trace)

    def on_restart(self, id: Runnable, reason: str | None) -> None:
        self._put(id, State.RESTARTING, reason)

    def on_shutdown(self, id: Runnable) -> None:
        self._put(id, State.UNASSIGNED)

    def on_topics(self, id: ConnectorTaskId, topics: Sequence[str]) -> None:
        if not self._track_topics:
            return
        known = {status.topic for status in self._store.topics(id.connector)}
        for topic in topics:
            if topic not in known:
                self._store.put_topic(TopicStatus(topic, id.connector, id.task, int(time.time() * 1000)))

    def _put(self, id: Runnable, state: State, trace: str | None = None) -> None:
        version = self.version_of(id)
        trace = None if trace is None else clean_text(trace)
        if isinstance(id, ConnectorTaskId):
            self._store.put(TaskStatus(id, state, self._worker_id, _GENERATION, trace, version))
        else:
            self._store.put(ConnectorStatus(id, state, self._worker_id, _GENERATION, trace, version))
