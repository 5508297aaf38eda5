# SPDX-License-Identifier: Apache-2.0
"""The removal of stray statuses: those of connectors and tasks that do not exist.

A task that stops late, a worker that resumes, or a write that is repeated can leave one at any time after its connector
was deleted or has fewer tasks. So a worker that reads one requests a sweep, and only the leader sweeps: it writes no
new connector or task configs meanwhile, so that no status of new work is removed. Java: ``DistributedHerder`` writes
tombstones once, when it reads that a connector or tasks were removed.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.storage.status_backing_store import KafkaStatusBackingStore
from headrace.storage.status_records import StatusKey

_TIMEOUT = 30.0
"""Seconds for a topic to be written or read."""


def is_stray(key: StatusKey, config: ClusterConfigState) -> bool:
    """Return True if ``config`` has no such connector or task. Tasks of an inconsistent connector may come back."""
    if not config.contains(key if isinstance(key, str) else key[0]):
        return True
    if not isinstance(key, ConnectorTaskId) or key.connector in config.inconsistent:
        return False
    return key.task >= config.task_counts.get(key.connector, 0)


def sweep_statuses(store: KafkaStatusBackingStore, read_config: Callable[[float], ClusterConfigState]) -> None:
    """Remove all stray statuses. Blocks; for the leader, while it writes no connector and no task configs.

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
