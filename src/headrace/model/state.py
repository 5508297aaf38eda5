# SPDX-License-Identifier: Apache-2.0
"""Target states of connectors, and states and statuses of connectors and tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from headrace.model.ids import ConnectorTaskId


class TargetState(str, Enum):
    """The state of a connector that its users requested; stored in the config topic (KIP-875 added STOPPED)."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class State(str, Enum):
    """The state of a connector or a task; stored in the status topic. Java: ``AbstractStatus.State``."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    DESTROYED = "DESTROYED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """A connector's status, as written by the worker ``worker_id`` (host:port) in the group's ``generation``.

    ``written_ms`` is the time of its record by the reader's clock, in milliseconds since the epoch; None where it is
    not known.
    """

    connector: str
    state: State
    worker_id: str | None
    generation: int
    trace: str | None = None
    version: str | None = None
    written_ms: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """A task's status; its fields are those of ``ConnectorStatus``."""

    id: ConnectorTaskId
    state: State
    worker_id: str | None
    generation: int
    trace: str | None = None
    version: str | None = None
    written_ms: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """A topic that a connector uses (KIP-558); ``discovered_ms`` is milliseconds since the epoch."""

    topic: str
    connector: str
    task: int
    discovered_ms: int
