# SPDX-License-Identifier: Apache-2.0
"""Automatic restarts of failed connectors and tasks: failures in the status topic, and restarts on this worker."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from headrace.config.restart_config import RestartRules
from headrace.herder.core.herder_events import Failure, FailuresRead, RestartPlanned
from headrace.herder.core.task_restarts import auto_restart
from headrace.herder.engine.statuses import StatusReporter, StatusStore
from headrace.metrics.figures import WorkerFigures
from headrace.model.auto_restart import AutoRestart, RestartCount
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TaskStatus
from headrace.storage.status_records import StatusKey

log = logging.getLogger(__name__)
_STACK: Final = re.compile(r"^(?:Traceback \(most recent call last\):$|\s+at \S)", re.MULTILINE)
"""A line that begins Python's stacks, and one of Java's."""
_OTHER_ERROR: Final = "During handling of the above exception, another exception occurred:"
"""Precedes an error whose cause is not the one before it."""
_MISTAKE: Final = re.compile(
    r"^(?:Caused by: )?(?:headrace\.api\.errors\.ConfigError|org\.apache\.kafka\.common\.config\.ConfigException)\b",
    re.MULTILINE,
)


def is_mistake(trace: str | None) -> bool:
    """Return True if the failure is a mistake in a configuration, or a refusal: a restart would repeat it.

    Workers of headrace write such an error's message without a stack (``worker.stages.trace_of``). In a stack, of Java
    too, it may be the error itself or one of its causes. A status without a trace shows nothing.
    """
    if not trace:
        return False
    return _STACK.search(trace) is None or _MISTAKE.search(trace.rpartition(_OTHER_ERROR)[2]) is not None


def has_failed(store: StatusStore, key: StatusKey) -> bool:
    """Return True if ``key`` is a connector or task whose status is FAILED."""
    status = _status(store, key)
    return status is not None and status.state is State.FAILED


def _status(store: StatusStore, key: StatusKey) -> ConnectorStatus | TaskStatus | None:
    if isinstance(key, str):
        return store.connector(key)
    return store.task(key) if isinstance(key, ConnectorTaskId) else None


def _failure(store: StatusStore, key: StatusKey, now_ms: int) -> Failure | None:
    """Return the failure that the status of ``key`` reports, None if it is not FAILED."""
    status = _status(store, key)
    if status is None or status.state is not State.FAILED:
        return None
    id = status.id if isinstance(status, TaskStatus) else status.connector
    return Failure(id, min(status.written_ms or 0, now_ms), is_mistake(status.trace))


class AutomaticRestarts:
    """Implements what the core's ``task_restarts`` orders, and answers queries. Thread-safe; nothing blocks."""

    def __init__(self, rules: RestartRules, store: StatusStore, statuses: StatusReporter) -> None:
        """``store`` has the statuses of all workers, ``statuses`` knows what this one has reported last."""
        self._rules = rules
        self._store = store
        self._statuses = statuses
        self._done: Counter[ConnectorTaskId] = Counter()

    def read(self) -> FailuresRead:
        """Return all failures."""
        now = _now_ms()
        read = (_failure(self._store, key, now) for key in self._store.keys())  # noqa: SIM118 - a method of the store
        return FailuresRead(tuple(failure for failure in read if failure is not None), now)

    def plan(self, id: str | ConnectorTaskId, count: RestartCount) -> RestartPlanned | None:
        """Return the restart of a connector or task that is FAILED on this worker, None if it is not."""
        if not self._statuses.has_failed(id):
            return None
        kind = "Task" if isinstance(id, ConnectorTaskId) else "Connector"
        log.info("%s %s has failed and is restarted automatically: restart %d in a row", kind, id, count.attempts)
        if isinstance(id, str):
            return RestartPlanned((id,), ())
        self._done[id] += 1
        return RestartPlanned((), (id,))

    def with_health(
        self, health: Mapping[str, dict[str, Any]], config: ClusterConfigState
    ) -> dict[str, dict[str, Any]]:
        """Return the health of connectors, by their names, with a key ``auto_restart`` for each and for its tasks.

        ``health`` has the objects ``connector`` and ``tasks``, these with an ``id``, as ``GET …/status`` has them.
        """
        return {
            name: {
                **shown,
                "connector": {**shown["connector"], "auto_restart": asdict(self._of(config, name))},
                "tasks": [
                    {**task, "auto_restart": asdict(self._of(config, ConnectorTaskId(name, task["id"])))}
                    for task in shown["tasks"]
                ],
            }
            for name, shown in health.items()
        }

    def with_restarts(self, figures: WorkerFigures, config: ClusterConfigState) -> WorkerFigures:
        """Return the figures with those of automatic restarts of the tasks that are on this worker."""
        tasks = {
            id: replace(task, values={**task.values, **self._figures(config, id)}) for id, task in figures.tasks.items()
        }
        return replace(figures, tasks=tasks)

    def _figures(self, config: ClusterConfigState, id: ConnectorTaskId) -> Mapping[str, float]:
        return {
            "auto-restarts-total": float(self._done[id]),
            "auto-restart-attempts": float(self._of(config, id).attempts),
        }

    def _of(self, config: ClusterConfigState, id: str | ConnectorTaskId) -> AutoRestart:
        now = _now_ms()
        return auto_restart(config, self._rules, id, _failure(self._store, id, now), now)


def _now_ms() -> int:
    return int(time.time() * 1000)
