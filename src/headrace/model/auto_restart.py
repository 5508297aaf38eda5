# SPDX-License-Identifier: Apache-2.0
"""Automatic restarts of failed connectors and tasks: their counts in the config topic, and what users see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.model.ids import ConnectorTaskId

NO_POLICY: Final = "none"
ON_FAILURE: Final = "on-failure"


@dataclass(frozen=True, slots=True)
class RestartCount:
    """The automatic restarts in a row of a connector or task; ``last_ms`` is the last one's time since the epoch."""

    attempts: int
    last_ms: int


RestartCounts = Mapping[str | ConnectorTaskId, RestartCount]
"""The counts of connectors, by their names, and of tasks; without those that have none."""


def without_connector(counts: RestartCounts, name: str) -> dict[str | ConnectorTaskId, RestartCount]:
    """Return the counts without those of the connector and its tasks."""
    return {id: count for id, count in counts.items() if name != (id if isinstance(id, str) else id.connector)}


def with_restart(
    counts: RestartCounts, id: str | ConnectorTaskId, count: RestartCount | None, *, tasks: bool = False
) -> dict[str | ConnectorTaskId, RestartCount]:
    """Return the counts after a restart: an automatic one sets ``count``; an operator's has none, and resets it.

    ``tasks``: the restart is one of connector ``id`` with its tasks.
    """
    if count is not None:
        return {**counts, id: count}
    if tasks and isinstance(id, str):
        return without_connector(counts, id)
    return {each: known for each, known in counts.items() if each != id}


@dataclass(frozen=True, slots=True)
class AutoRestart:
    """The automatic restarts of a connector or task. Times are milliseconds since the epoch.

    ``attempts`` counts those in a row. ``gave_up``: it is FAILED, and is not restarted although its policy is
    on-failure; ``reason`` is the reason for that, or for which a restart waits.
    """

    policy: str
    attempts: int
    max_attempts: int
    next_attempt_ms: int | None
    gave_up: bool
    reason: str | None
