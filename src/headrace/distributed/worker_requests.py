# SPDX-License-Identifier: Apache-2.0
"""Requests to the group's other workers for the health and history of their tasks, and for their own figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.herder.engine.herder_services import LeaderRequests
from headrace.herder.worker_parts import Json
from headrace.model.cluster_config_state import ClusterConfigState


@dataclass(frozen=True, slots=True)
class SignedWorkerRequests:
    """Implements the herder's ``WorkerRequests``, ``HistoryRequests`` and ``ReportRequests``.

    A worker is known by its id alone, the host:port in statuses; all of a group have the same ``scheme``.
    """

    client: LeaderRequests
    scheme: str
    config: Callable[[], ClusterConfigState]
    """Returns the newest state of the config topic, which has the key that requests are signed with."""

    def worker_health(self, worker_id: str, connector: str | None) -> Json:
        return self.client.worker_health(self._url(worker_id), connector, self.config().session_key)

    def worker_history(self, worker_id: str, connector: str | None) -> Json:
        return self.client.worker_history(self._url(worker_id), connector, self.config().session_key)

    def worker_report(self, worker_id: str) -> Json:
        return self.client.worker_report(self._url(worker_id), self.config().session_key)

    def _url(self, worker_id: str) -> str:
        return f"{self.scheme}://{worker_id}"
