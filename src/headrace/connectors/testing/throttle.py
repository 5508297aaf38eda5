# SPDX-License-Identifier: Apache-2.0
"""A given number of records per second."""

from __future__ import annotations

import math
from typing import Final

_LONGEST_LAG: Final = 1.0


class Throttle:
    """Says how many records are due. Pure: the caller brings the time, in seconds of a clock that never goes back.

    The n-th record is due n/rate after the start. Whoever lags behind may catch up with what became due in the last
    second; what is older is given up, so that no pause ends in a flood. A negative rate means no limit, 0 never.
    """

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._start = now
        self._sent = 0

    def due(self, now: float, limit: int) -> int:
        """How many records may go now, at most `limit`. The first one may go at once."""
        if self._rate < 0:
            return limit
        if self._rate == 0:
            return 0
        if now - self._due_at() > _LONGEST_LAG:
            self._start, self._sent = now - _LONGEST_LAG, 0
        return max(0, min(limit, math.floor((now - self._start) * self._rate) + 1 - self._sent))

    def sent(self, count: int) -> None:
        """So many more have gone."""
        self._sent += count

    def wait(self, now: float) -> float:
        """Seconds until the next record is due; infinity if never."""
        if self._rate < 0:
            return 0.0
        return max(0.0, self._due_at() - now) if self._rate else math.inf

    def _due_at(self) -> float:
        return self._start + self._sent / self._rate
