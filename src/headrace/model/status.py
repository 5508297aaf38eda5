# SPDX-License-Identifier: Apache-2.0
"""Statuses as the status topic stores them."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.model.ids import ConnectorTaskId
from headrace.model.state import State


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """A connector's status, as written by the worker ``worker_id`` (host:port) in the group's ``generation``."""

    connector: str
    state: State
    worker_id: str | None
    generation: int
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """A task's status; its fields are those of ``ConnectorStatus``."""

    id: ConnectorTaskId
    state: State
    worker_id: str | None
    generation: int
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """A topic that a connector uses (KIP-558); ``discovered_ms`` is milliseconds since the epoch."""

    topic: str
    connector: str
    task: int
    discovered_ms: int
