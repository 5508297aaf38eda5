# SPDX-License-Identifier: Apache-2.0
"""Target states of connectors, and states of connectors and tasks."""

from __future__ import annotations

from enum import Enum


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
