# SPDX-License-Identifier: Apache-2.0
"""The times of a group member's heartbeats."""

from __future__ import annotations

import time

from kafka.coordinator.heartbeat import Heartbeat

_MIN_PAUSE = 0.1
"""Seconds between two heartbeats, at least."""
_PAUSE_RATIO = 0.1
"""The pause after a heartbeat, as a part of the time since the last rebalance."""


class EagerHeartbeat(Heartbeat):  # type: ignore[misc]
    """A heartbeat that is frequent right after a rebalance, then ever slower, down to the configured interval.

    One rebalance is often followed by another: work revoked from one member is assigned to another in the next, and
    members learn of that only by the answer to a heartbeat. On the membership's thread, as its base class.
    """

    def time_to_next_heartbeat(self) -> float:
        configured = float(super().time_to_next_heartbeat())
        if self.heartbeat_failed:
            return configured
        began, last = float(self.last_reset), max(float(self.last_send), float(self.last_reset))
        pause = max(_MIN_PAUSE, _PAUSE_RATIO * (last - began))
        return min(configured, max(0.0, last + pause - time.monotonic()))
