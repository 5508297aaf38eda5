# SPDX-License-Identifier: Apache-2.0
"""What a connector is wanted to be, and what a connector or a task is."""

from __future__ import annotations

from enum import Enum


class TargetState(str, Enum):
    """What the users of a connector want of it; kept in the config topic (KIP-875 added STOPPED)."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class State(str, Enum):
    """What a connector or a task is; kept in the status topic. Java: ``AbstractStatus.State``."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    DESTROYED = "DESTROYED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"
