# SPDX-License-Identifier: Apache-2.0
"""The interfaces that a herder implements for its worker: requests of connectors and tasks, and their statuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.model.ids import ConnectorTaskId

Runnable = str | ConnectorTaskId
"""A connector by its name, or a task."""


class ConnectorCallbacks(Protocol):
    """A connector's requests to its herder. Called on any thread; must not block."""

    def request_task_reconfiguration(self, connector: str) -> None:
        """Call ``connector_task_configs`` again and bring the connector's tasks in line with the answer."""


class TaskCallbacks(Protocol):
    """A task's requests to its herder."""

    def owns_task_generation(self, id: ConnectorTaskId) -> bool:
        """Return true if a new attempt may run with the configuration the task was started with (invariants 4 and 6).

        Reads the config topic to its end, so it blocks; called on the launcher's threads. Raise RetriableError if the
        topic cannot be read now. Java: ``DistributedHerder.verifyTaskGenerationAndOwnership``.
        """


class HerderCallbacks(ConnectorCallbacks, TaskCallbacks, Protocol):
    """The requests of connectors and tasks to their herder."""


class StatusListener(Protocol):
    """Called on the worker's threads, for one connector or task by one thread at a time and in order; must not block.

    Java: ``ConnectorStatus.Listener`` and ``TaskStatus.Listener`` in one.
    """

    def on_startup(self, id: Runnable) -> None:
        """Run for the first time since the start here (RUNNING)."""

    def on_running(self, id: Runnable) -> None:
        """Run again, after a pause or after the death of an attempt (RUNNING)."""

    def on_pause(self, id: Runnable) -> None:
        """Reached the target state PAUSED (PAUSED)."""

    def on_stop(self, id: Runnable) -> None:
        """Reached a connector's target state STOPPED (STOPPED); its tasks are the herder's responsibility."""

    def on_failure(self, id: Runnable, trace: str) -> None:
        """Failed by its own code, data or configuration (FAILED); ``trace`` is for the user to read."""

    def on_restart(self, id: Runnable, reason: str) -> None:
        """A task's attempt died through no fault of its own; another one follows, or waits for room (RESTARTING).

        Called again when the reason of the wait changes.
        """

    def on_shutdown(self, id: Runnable) -> None:
        """Left this worker (UNASSIGNED). Not called after FAILED: that status stays readable."""

    def on_topics(self, id: ConnectorTaskId, topics: Sequence[str]) -> None:
        """Report topics that the task uses (KIP-558)."""
