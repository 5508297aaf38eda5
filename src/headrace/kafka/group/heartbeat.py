# SPDX-License-Identifier: Apache-2.0
"""When a member of a group sends its heartbeats."""

from __future__ import annotations

import time

from kafka.coordinator.heartbeat import Heartbeat

_SHORTEST = 0.1
"""Seconds between two heartbeats, at least."""
_SHARE = 0.1
"""Of the time between the last round and a heartbeat: so long is the pause that follows it."""


class EagerHeartbeat(Heartbeat):  # type: ignore[misc]
    """Beats often right after a round of the group, then ever more seldom, and never more seldom than configured.

    One round is often followed by another: what it takes from one member is given to another in the next, of which
    members only hear by the answer to a heartbeat. On the membership's thread, as its base class.
    """

    def time_to_next_heartbeat(self) -> float:
        configured = float(super().time_to_next_heartbeat())
        if self.heartbeat_failed:
            return configured
        began, last = float(self.last_reset), max(float(self.last_send), float(self.last_reset))
        pause = max(_SHORTEST, _SHARE * (last - began))
        return min(configured, max(0.0, last + pause - time.monotonic()))
