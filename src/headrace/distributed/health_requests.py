# SPDX-License-Identifier: Apache-2.0
"""Requests to the group's other workers for the health of their tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.herder.connector_health import Json
from headrace.herder.engine.herder_services import LeaderRequests
from headrace.model.cluster_config_state import ClusterConfigState


@dataclass(frozen=True, slots=True)
class SignedHealthRequests:
    """Implements ``headrace.herder.connector_health.WorkerRequests``.

    A worker is known by its id alone, the host:port in statuses; all of a group have the same ``scheme``.
    """

    client: LeaderRequests
    scheme: str
    config: Callable[[], ClusterConfigState]
    """Returns the newest state of the config topic, which has the key that requests are signed with."""

    def worker_health(self, worker_id: str, connector: str | None) -> Json:
        return self.client.worker_health(f"{self.scheme}://{worker_id}", connector, self.config().session_key)
