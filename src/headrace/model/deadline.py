# SPDX-License-Identifier: Apache-2.0
"""The one moment by which all steps of something have to be done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]
"""Seconds on a clock that never goes back, such as ``time.monotonic``."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Passed down a path of blocking steps, so that together they take no longer than the first caller allowed."""

    at: float
    clock: Clock

    @classmethod
    def after(cls, seconds: float, clock: Clock = time.monotonic) -> Deadline:
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.at - self.clock())

    @property
    def expired(self) -> bool:
        return self.clock() >= self.at
