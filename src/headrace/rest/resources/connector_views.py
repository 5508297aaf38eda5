# SPDX-License-Identifier: Apache-2.0
"""The parts of which answers about connectors are made: info, status and health."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from headrace.herder.errors import NotFoundError
from headrace.herder.herder import Herder
from headrace.rest.access.access import Access
from headrace.rest.access.hidden_secrets import HiddenSecrets
from headrace.rest.entities import Json, connector_status, to_json
from headrace.rest.herder_request_handler import RequestHandler

SPARK: Final = "spark"
_HEALTH: Final = "health"
STATE_PARTS: Final = frozenset({"status", _HEALTH})


def info_of(herder: Herder, name: str) -> Json:
    """Return the answer to ``GET /connectors/{connector}``. Raise NotFoundError."""
    info: Json = to_json(herder.connector_info(name))
    return info


def status_of(herder: Herder, name: str) -> Json:
    """Return the answer to ``GET …/status``. Raise NotFoundError."""
    return connector_status(herder.connector_status(name))


async def status_with_spark(herder: Herder, handler: RequestHandler, name: str) -> Json:
    """Return the same with what Spark runs of each task on this worker. Raise NotFoundError."""
    status = herder.connector_status(name)
    attempts = await handler.complete(herder.spark_attempts(name))
    return connector_status(status, attempts)


_PARTS: Final[Mapping[str, Callable[[Herder, str], Json]]] = {"status": status_of, "info": info_of}


@dataclass(frozen=True, slots=True)
class ConnectorViews:
    """The parts of several connectors at once. On the event loop only."""

    herder: Herder
    handler: RequestHandler
    hidden: HiddenSecrets

    async def of(self, access: Access, names: Iterable[str], wanted: Collection[str]) -> dict[str, Json]:
        """Return the wanted parts of each connector, with secrets as the user may see them.

        Connectors that are gone or incomplete are left out. Which connectors the user may see is for the caller.
        """
        found = {name: parts for name in names if (parts := self._known_parts(name, wanted)) is not None}
        health = await self._health(tuple(found)) if _HEALTH in wanted else {}
        shown = {}
        for name, parts in found.items():
            if name in health:
                parts[_HEALTH] = health[name]
            with suppress(NotFoundError):  # it was deleted meanwhile
                if SPARK in wanted:
                    parts["status"] = await status_with_spark(self.herder, self.handler, name)
                shown[name] = await self.hidden.mask(access, name, parts)
        return shown

    async def _health(self, names: tuple[str, ...]) -> Mapping[str, Json]:
        found = await self.handler.complete(self.herder.connector_health(names))
        for health in found.values():
            for task in health.get("tasks", ()):
                task.pop("steps", None)  # only in the answer about one connector
        return found

    def _known_parts(self, name: str, wanted: Collection[str]) -> Json | None:
        try:
            return {part: show(self.herder, name) for part, show in _PARTS.items() if part in wanted}
        except NotFoundError:
            return None
