# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.model.set_back_clock import BORNE_SECONDS, SetBackClock

DAY = 86_400.0


def test_only_a_clock_that_is_set_back_far_is_reported() -> None:
    wall, steady = [1_000_000.0], [50.0]
    clock = SetBackClock(lambda: wall[0], lambda: steady[0])

    def passes(seconds: float, jump: float = 0.0) -> float | None:
        steady[0] += seconds
        wall[0] += seconds + jump
        return clock.seconds_set_back()

    assert passes(1) is None
    assert passes(10_000) is None  # a process that stood still for hours
    assert passes(1, jump=10 * DAY) is None
    assert passes(1, jump=-DAY) == DAY
    assert passes(1) is None
    assert passes(1, jump=-BORNE_SECONDS) is None
    assert passes(1, jump=-1.5 * BORNE_SECONDS) == 1.5 * BORNE_SECONDS
