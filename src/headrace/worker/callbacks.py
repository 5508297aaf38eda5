# SPDX-License-Identifier: Apache-2.0
"""What the worker asks of whoever started a connector or a task: of the herder."""

from __future__ import annotations

from typing import Protocol

from headrace.model.ids import ConnectorTaskId


class ConnectorCallbacks(Protocol):
    """For one connector. Called on any thread; must not block."""

    def reconfigure(self, connector: str) -> None:
        """The connector asks for ``connector_task_configs`` to be called again and its tasks to be brought in line."""


class TaskCallbacks(Protocol):
    """For one task."""

    def still_mine(self, id: ConnectorTaskId) -> bool:
        """May the task's new attempt go on with the configuration it was started with (invariants 4 and 6)?

        Reads the config topic to its end, so it blocks; called on the launcher's threads. RetriableError if the topic
        cannot be read now.
        """

    def reconfigure(self, connector: str) -> None:
        """The task asks for new task configurations. Must not block."""
