# SPDX-License-Identifier: Apache-2.0
"""The connectors of a cluster, as its REST API shows them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import Goal
from headrace.config.connector_config import LABELS

if TYPE_CHECKING:
    from headrace.cli.ctl.rest_api import RestApi

_FIRST_STATUS_S: Final = 10.0
_INTERVAL_S: Final = 0.2
_TARGETS: Final = {goal.value: goal for goal in (Goal.PAUSED, Goal.STOPPED)}


@dataclass(frozen=True, slots=True)
class Current:
    """A connector of the cluster. ``state`` is the one that its users requested, as far as its status shows it."""

    name: str
    config: Mapping[str, str | None]
    state: Goal
    tasks: int = 0
    type: str = ""

    @property
    def labels(self) -> frozenset[str]:
        return labels_of(self.config)


def labels_of(config: Mapping[str, str | None]) -> frozenset[str]:
    """Return the labels in a configuration."""
    return frozenset(label for each in (config.get(LABELS) or "").split(",") if (label := each.strip()))


def read_cluster(api: RestApi) -> dict[str, Current]:
    """Return all connectors by name. One that has no status for 10 s is taken for RUNNING."""
    names = api.get("/connectors")
    found = api.get("/connectors", expand=["info", "status"])
    connectors = {}
    for name in sorted(names):
        known = found.get(name) or {}
        info = known.get("info") or api.find(path("connectors", name))
        if info is not None:  # else it was deleted meanwhile
            status = known.get("status") or _first_status(api, name)
            connectors[name] = _current(name, info, status)
    return connectors


def _first_status(api: RestApi, name: str) -> Mapping[str, Any]:
    """Wait for the status of a connector that was created just now; an empty one if there is none after some time."""
    deadline = time.monotonic() + _FIRST_STATUS_S
    while (status := api.find(path("connectors", name, "status"))) is None and time.monotonic() < deadline:
        time.sleep(_INTERVAL_S)
    return status or {}


def read_connector(api: RestApi, name: str) -> Current | None:
    """Return a connector; None if there is none."""
    info = api.find(path("connectors", name))
    return None if info is None else _current(name, info, api.find(path("connectors", name, "status")) or {})


def _current(name: str, info: Mapping[str, Any], status: Mapping[str, Any]) -> Current:
    state = _TARGETS.get((status.get("connector") or {}).get("state"), Goal.RUNNING)
    return Current(name, info["config"], state, len(status.get("tasks") or ()), info.get("type") or "")
