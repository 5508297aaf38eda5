# SPDX-License-Identifier: Apache-2.0
"""Assignments: the connectors and tasks that a rebalance gave to each worker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from headrace.model.ids import ConnectorTaskId


class AssignmentError(IntEnum):
    """Java: ``ConnectProtocol.Assignment`` error codes."""

    NONE = 0
    CONFIG_MISMATCH = 1


@dataclass(frozen=True, slots=True)
class GroupTopics:
    """The names of the internal topics that all workers of a group have to share."""

    config: str
    offsets: str
    status: str

    def __str__(self) -> str:
        return (
            f"config.storage.topic={self.config}, offset.storage.topic={self.offsets}, "
            f"status.storage.topic={self.status}"
        )


@dataclass(frozen=True, slots=True)
class Assignment:
    """The connectors and tasks of one member in a generation. ``delay_ms`` > 0: rejoin after so long (KIP-415).

    ``topics`` are those of the leader, or of the workers that the leader leaves the group to; None if not reported.
    """

    leader: str
    leader_url: str
    config_offset: int
    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[ConnectorTaskId, ...] = ()
    delay_ms: int = 0
    error: AssignmentError = AssignmentError.NONE
    topics: GroupTopics | None = None
