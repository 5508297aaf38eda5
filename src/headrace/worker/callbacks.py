# SPDX-License-Identifier: Apache-2.0
"""The worker's requests to the herder that started a connector or a task."""

from __future__ import annotations

from typing import Protocol

from headrace.model.ids import ConnectorTaskId


class ConnectorCallbacks(Protocol):
    """A connector's requests to its herder. Called on any thread; must not block."""

    def request_task_reconfiguration(self, connector: str) -> None:
        """Call ``connector_task_configs`` again and bring the connector's tasks in line with the answer."""


class TaskCallbacks(Protocol):
    """A task's requests to its herder."""

    def owns_task_generation(self, id: ConnectorTaskId) -> bool:
        """Return true if a new attempt may run with the configuration the task was started with (invariants 4 and 6).

        Reads the config topic to its end, so it blocks; called on the launcher's threads. Raise RetriableError if the
        topic cannot be read now.
        """

    def request_task_reconfiguration(self, connector: str) -> None:
        """Make the connector's task configurations anew, as the task requests. Must not block."""
