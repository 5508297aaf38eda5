# SPDX-License-Identifier: Apache-2.0
"""The statuses of this worker's connectors and tasks: their writing, and the removal of those of what is gone.

Restarts go by statuses, so their plan is here too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from headrace.api.error_text import clean_text
from headrace.herder.herder_queries import Statuses
from headrace.logs import audit
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorStateInfo
from headrace.model.state import ConnectorStatus, State, TaskStatus, TopicStatus
from headrace.storage.status_records import StatusKey
from headrace.worker.callbacks import Runnable

_TIMEOUT = 30.0
"""Seconds for a topic to be written or read."""

VersionOf = Callable[[Runnable], str | None]
"""The version of a connector's or task's code, None where it is not known."""


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """The connector and tasks that a restart covers, by their statuses (KIP-745). Java: ``RestartPlan``.

    ``connector`` is true if the connector itself is restarted; ``tasks`` are the numbers of those restarted.
    """

    connector: bool
    tasks: tuple[int, ...]


def restart_plan(
    connector: str | None, tasks: Iterable[tuple[int, str]], *, only_failed: bool, include_tasks: bool
) -> RestartPlan:
    """Return the plan. ``connector`` is its state, None if unknown; ``tasks`` are the tasks' numbers and states."""
    failed = State.FAILED.value
    chosen = tuple(number for number, state in tasks if include_tasks and (not only_failed or state == failed))
    return RestartPlan(not only_failed or connector == failed, chosen)


def restart_plan_from_status(status: ConnectorStateInfo, *, only_failed: bool, include_tasks: bool) -> RestartPlan:
    """Return the plan by the answer of ``GET /connectors/{name}/status``."""
    tasks = [(task.id, task.state) for task in status.tasks]
    return restart_plan(status.connector.state, tasks, only_failed=only_failed, include_tasks=include_tasks)


def with_restarting(status: ConnectorStateInfo, plan: RestartPlan) -> ConnectorStateInfo:
    """Return the status with RESTARTING wherever the plan restarts something, the answer to a restart request."""
    state = State.RESTARTING.value
    connector = replace(status.connector, state=state) if plan.connector else status.connector
    tasks = tuple(replace(task, state=state) if task.id in plan.tasks else task for task in status.tasks)
    return replace(status, connector=connector, tasks=tasks)


class StatusStore(Statuses, Protocol):
    """A store of statuses. Writes go out in the background; ``flush`` and ``refresh`` block."""

    def put(self, status: ConnectorStatus | TaskStatus) -> None:
        """Write a status."""

    def put_safe(self, status: ConnectorStatus | TaskStatus) -> None:
        """Write a status unless another worker of a newer generation has written one since."""

    def put_topic(self, status: TopicStatus) -> None:
        """Record that a connector uses a topic (KIP-558)."""

    def delete(self, key: StatusKey) -> None:
        """Remove a status, of whichever worker."""

    def keys(self) -> tuple[StatusKey, ...]:
        """Return the keys of all statuses."""

    def contains(self, key: StatusKey) -> bool:
        """Return True if there is a status about ``key``."""

    def flush(self, timeout: float) -> None:
        """Wait for the writes under way. Raise RetriableError after ``timeout`` seconds."""

    def refresh(self, timeout: float) -> None:
        """Read everything that is written now."""


class StatusReporter:
    """Implements ``headrace.worker.callbacks.StatusListener``; called on the worker's threads, never blocks.

    A failure or an end can come late, from a worker that has lost the connector or task. So it is written only if no
    other worker has written since, and with the generation in which the worker owned it: a worker that was out of the
    group for a while may end lost work when it is back, in a generation that is newer than its successor's. Java, which
    takes the newest generation, then shows for good as UNASSIGNED what runs elsewhere. Java: the ``on...`` methods of
    ``AbstractHerder``.
    """

    def __init__(
        self, store: StatusStore, worker_id: str, generation: Callable[[], int], track_topics: bool = True
    ) -> None:
        """``worker_id`` is host:port of the REST API, ``generation`` returns the group's newest known generation."""
        self._store = store
        self._worker_id = worker_id
        self._generation = generation
        self._track_topics = track_topics
        self.version_of: VersionOf = lambda id: None
        """Set once, before anything is reported: the worker, which knows versions, is created with this reporter."""
        self._held: dict[Runnable, int] = {}
        """The generation in which this worker began to own a connector or task, or last reported that it does."""
        self._failed: set[Runnable] = set()

    @property
    def worker_id(self) -> str:
        """This worker, by host:port of its REST API."""
        return self._worker_id

    def hold(self, id: Runnable) -> None:
        """Note that this worker owns a connector or task from this generation on, though nothing of it runs yet.

        Called by the herder before each start: what is lost before it has reported anything ends as late as all else.
        """
        self._held[id] = self._generation()

    def on_startup(self, id: Runnable) -> None:
        self._put(id, State.RUNNING)

    def on_running(self, id: Runnable) -> None:
        self._put(id, State.RUNNING)

    def on_pause(self, id: Runnable) -> None:
        self._put(id, State.PAUSED)

    def on_stop(self, id: Runnable) -> None:
        self._put(id, State.STOPPED)

    def on_restart(self, id: Runnable, reason: str | None) -> None:
        """Report a restart: the engine's for ``reason``, or one that was requested."""
        if reason is not None:
            connector = id if isinstance(id, str) else id.connector
            audit.write_own(audit.ENGINE, self._worker_id, f"restart of {id}", connector=connector, reason=reason)
        self._put(id, State.RESTARTING, reason)

    def on_failure(self, id: Runnable, trace: str) -> None:
        self._failed.add(id)
        self._store.put_safe(self._status(id, State.FAILED, self._held.get(id, self._generation()), trace))

    def on_shutdown(self, id: Runnable) -> None:
        self._failed.discard(id)
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

    def has_failed(self, id: Runnable) -> bool:
        """Return True if the last report of this worker about a connector or task is that it FAILED."""
        return id in self._failed

    def _put(self, id: Runnable, state: State, trace: str | None = None) -> None:
        self._failed.discard(id)
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


# ---- the removal of stray statuses


def is_stray(key: StatusKey, config: ClusterConfigState) -> bool:
    """Return True if ``config`` has no such connector or task. Tasks of an inconsistent connector may come back."""
    if not config.contains(key if isinstance(key, str) else key[0]):
        return True
    if not isinstance(key, ConnectorTaskId) or key.connector in config.inconsistent:
        return False
    return key.task >= config.task_counts.get(key.connector, 0)


def sweep_statuses(store: StatusStore, read_config: Callable[[float], ClusterConfigState]) -> None:
    """Remove all stray statuses. Blocks; for the leader, while it writes no connector and no task configs.

    A task that stops late, a worker that resumes, or a write that is repeated can leave one at any time after its
    connector was deleted or has fewer tasks. So a worker that reads one requests a sweep, and only the leader sweeps:
    it creates nothing meanwhile, so that no status of new work is removed. Java: ``DistributedHerder`` writes
    tombstones once, when it reads that a connector or tasks were removed.

    ``read_config`` reads the config topic to its end within so many seconds. Raise RetriableError if a topic cannot be
    read or written. The config topic is read last: connectors and tasks that have a status by then are in it, unless
    they were removed.
    """
    store.flush(_TIMEOUT)
    store.refresh(_TIMEOUT)
    keys = store.keys()
    config = read_config(_TIMEOUT)
    for key in keys:
        if is_stray(key, config):
            store.delete(key)
    store.flush(_TIMEOUT)
