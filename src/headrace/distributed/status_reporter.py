# SPDX-License-Identifier: Apache-2.0
"""Writes the statuses of this worker's connectors and tasks to the status topic."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headrace.api.error_text import clean_text
from headrace.herder.restart_plan import RestartPlan, restart_plan
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import State
from headrace.model.status import ConnectorStatus, TaskStatus, TopicStatus
from headrace.storage.status_backing_store import KafkaStatusBackingStore
from headrace.worker.callbacks import Runnable

VersionOf = Callable[[Runnable], str | None]
"""The version of a connector's or task's code, None where it is not known."""


class StatusReporter:
    """Implements ``headrace.worker.callbacks.StatusListener``; called on the worker's threads, never blocks.

    A failure or an end can come late, from a worker that has lost the connector or task. So it is written only if no
    other worker has written since, and with the generation in which the worker owned it: a worker that was out of the
    group for a while may end lost work when it is back, in a generation that is newer than its successor's. Java, which
    takes the newest generation, then shows for good as UNASSIGNED what runs elsewhere. Java: the ``on...`` methods of
    ``AbstractHerder``.
    """

    def __init__(
        self, store: KafkaStatusBackingStore, worker_id: str, generation: Callable[[], int], track_topics: bool = True
    ) -> None:
        """``worker_id`` is host:port of the REST API, ``generation`` returns the group's newest known generation."""
        self._store = store
        self._worker_id = worker_id
        self._generation = generation
        self._track_topics = track_topics
        self.version_of: VersionOf = lambda id: None
        """Set once, before anything is reported: the worker, which knows versions, is created with this reporter."""
        self._held: dict[Runnable, int] = {}
        """The generation in which this worker last reported that it owns a connector or task."""

    def on_startup(self, id: Runnable) -> None:
        self._put(id, State.RUNNING)

    def on_running(self, id: Runnable) -> None:
        self._put(id, State.RUNNING)

    def on_pause(self, id: Runnable) -> None:
        self._put(id, State.PAUSED)

    def on_stop(self, id: Runnable) -> None:
        self._put(id, State.STOPPED)

    def on_restart(self, id: Runnable, reason: str | None) -> None:
        self._put(id, State.RESTARTING, reason)

    def on_failure(self, id: Runnable, trace: str) -> None:
        self._store.put_safe(self._status(id, State.FAILED, self._held.get(id, self._generation()), trace))

    def on_shutdown(self, id: Runnable) -> None:
        self._store.put_safe(self._status(id, State.UNASSIGNED, self._held.pop(id, self._generation())))

    def on_topics(self, id: ConnectorTaskId, topics: Sequence[str]) -> None:
        if not self._track_topics:
            return
        known = {status.topic for status in self._store.topics(id.connector)}
        for topic in topics:
            if topic not in known:
                self._store.put_topic(TopicStatus(topic, id.connector, id.task, int(time.time() * 1000)))

    def restart_plan(self, name: str, *, only_failed: bool, include_tasks: bool) -> RestartPlan:
        """Return the connector and tasks that a restart affects, by the statuses known here. Does not block."""
        connector = self._store.connector(name)
        tasks = [(status.id.task, status.state.value) for status in self._store.tasks(name)]
        state = connector.state.value if connector else None
        return restart_plan(state, tasks, only_failed=only_failed, include_tasks=include_tasks)

    def reset_topics(self, name: str) -> None:
        """Delete the record of the topics that the connector has used.

        Each worker reads that from the status topic, and has its tasks report again the topics that they still use.
        """
        for status in self._store.topics(name):
            self._store.delete((name, status.topic))

    def _put(self, id: Runnable, state: State, trace: str | None = None) -> None:
        generation = self._held[id] = self._generation()
        self._store.put(self._status(id, state, generation, trace))

    def _status(
        self, id: Runnable, state: State, generation: int, trace: str | None = None
    ) -> ConnectorStatus | TaskStatus:
        version = self.version_of(id)
        trace = None if trace is None else clean_text(trace)
        if isinstance(id, ConnectorTaskId):
            return TaskStatus(id, state, self._worker_id, generation, trace, version)
        return ConnectorStatus(id, state, self._worker_id, generation, trace, version)
