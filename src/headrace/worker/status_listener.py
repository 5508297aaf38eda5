# SPDX-License-Identifier: Apache-2.0
"""Who hears what becomes of connectors and tasks. Implemented by the herder, which keeps the status topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.model.ids import ConnectorTaskId

Runnable = str | ConnectorTaskId
"""A connector by its name, or a task."""


class StatusListener(Protocol):
    """Called on the worker's threads, for one connector or task by one thread at a time and in order; must not block.

    Java: ``ConnectorStatus.Listener`` and ``TaskStatus.Listener`` in one.
    """

    def on_startup(self, id: Runnable) -> None:
        """It runs for the first time since it was started here (RUNNING)."""

    def on_running(self, id: Runnable) -> None:
        """It runs again, after a pause or after the death of an attempt (RUNNING)."""

    def on_pause(self, id: Runnable) -> None:
        """It is paused (PAUSED)."""

    def on_stop(self, id: Runnable) -> None:
        """A connector's target state STOPPED is reached (STOPPED); its tasks are the herder's business."""

    def on_failure(self, id: Runnable, trace: str) -> None:
        """Its own code, data or configuration failed (FAILED); ``trace`` is for the user to read."""

    def on_restart(self, id: Runnable, reason: str) -> None:
        """A task's attempt died of something that is not its own fault, and another one follows; or there can be none
        yet, of which it is told again when the reason changes (RESTARTING)."""

    def on_shutdown(self, id: Runnable) -> None:
        """It is gone from this worker (UNASSIGNED). Not called for what had FAILED: that stays readable."""

    def on_topics(self, id: ConnectorTaskId, topics: Sequence[str]) -> None:
        """The task was seen to use these topics (KIP-558)."""
