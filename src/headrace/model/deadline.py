# SPDX-License-Identifier: Apache-2.0
"""A deadline that the steps of one operation share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]
"""A function that returns seconds of a clock that never goes back, such as ``time.monotonic``."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time by which all blocking steps of an operation have to end. Passed down from caller to callee."""

    at: float
    clock: Clock

    @classmethod
    def after(cls, seconds: float, clock: Clock = time.monotonic) -> Deadline:
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.at - self.clock())

    @property
    def expired(self) -> bool:
        return self.clock() >= self.at
