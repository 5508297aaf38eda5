# SPDX-License-Identifier: Apache-2.0
"""Who runs what, as one rebalance decided it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from headrace.model.ids import ConnectorTaskId


class AssignmentError(IntEnum):
    """Java: ``ConnectProtocol.Assignment`` error codes."""

    NONE = 0
    CONFIG_MISMATCH = 1


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one member is to run from a generation on. ``delay_ms`` > 0: rejoin after so long (KIP-415)."""

    leader: str
    leader_url: str
    config_offset: int
    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[ConnectorTaskId, ...] = ()
    delay_ms: int = 0
    error: AssignmentError = AssignmentError.NONE
