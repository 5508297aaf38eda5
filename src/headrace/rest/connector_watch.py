# SPDX-License-Identifier: Apache-2.0
"""Looks at the connectors for all streams together, and notes what has changed."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import replace
from typing import Final

from headrace.herder.connector_changes import ConnectorChanges
from headrace.herder.errors import NotFoundError
from headrace.model.deadline import Clock
from headrace.model.info import ConnectorStateInfo
from headrace.rest.access.access import ANONYMOUS_ACCESS
from headrace.rest.resources.connector_views import STATE_PARTS, ConnectorViews

FIGURES_S: Final = 5.0
_SLOWEST_S: Final = 60.0
_PAUSES_PER_LOOK: Final = 50
"""The pause is as many times as long as the look took: a large cluster is looked at less often."""
_WITHOUT_SECRETS: Final = replace(ANONYMOUS_ACCESS, hides_secrets=True)


class ConnectorWatch:
    """A table of what ``GET /connectors?expand=status&expand=health`` answers to a viewer. Event loop only.

    Connectors whose status has changed are looked at at once. All of them are every five seconds, or less often: only
    then are figures and verdicts seen that change without a status.
    """

    def __init__(self, views: ConnectorViews, clock: Clock = time.monotonic) -> None:
        self._views = views
        self._herder = views.herder
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._revision: tuple[int, int] | None = None
        self._statuses: dict[str, ConnectorStateInfo] = {}
        self._next = clock()
        """The time from which all are to be looked at."""

    async def look(self, changes: ConnectorChanges) -> bool:
        """Note what has changed since the last look, if it is time; return True if anything has.

        Raise ConnectError if the herder does not answer. Costs nothing while no status is read.
        """
        async with self._one_at_a_time:
            begun, revision = self._clock(), self._herder.revision()
            at_all = begun >= self._next
            if not at_all and revision == self._revision:
                return False
            statuses = self._read_statuses()
            names = self._statuses.keys() | statuses.keys()
            if not at_all:
                names = {name for name in names if self._statuses.get(name) != statuses.get(name)}
            shown = await self._views.of(_WITHOUT_SECRETS, sorted(names), STATE_PARTS)
            self._revision, self._statuses = revision, statuses
            if at_all:
                took = self._clock() - begun
                self._next = begun + took + min(max(FIGURES_S, took * _PAUSES_PER_LOOK), _SLOWEST_S)
            return changes.update({name: _text(shown[name]) if name in shown else None for name in names})

    def _read_statuses(self) -> dict[str, ConnectorStateInfo]:
        found = {}
        for name in self._herder.connectors():
            with suppress(NotFoundError):  # it has no status yet, or is being deleted
                found[name] = self._herder.connector_status(name)
        return found


def _text(state: object) -> str:
    return json.dumps(state, allow_nan=False, separators=(",", ":"))
