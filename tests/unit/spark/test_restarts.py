# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.spark.engine.jvm import Restarts


def test_the_wait_doubles_with_each_failure_up_to_half_a_minute() -> None:
    restarts, delays = Restarts(), []
    for _ in range(7):
        restarts = restarts.failed()
        delays.append(restarts.delay)
    assert delays == [1, 2, 4, 8, 16, 30, 30]
    assert Restarts(10_000).delay == 30


def test_a_session_that_has_lived_is_followed_at_once_and_one_that_has_not_counts_as_a_failure() -> None:
    assert Restarts(5).lost(lived=60).delay == 0
    assert Restarts(5).lost(lived=59.9).delay == 30
    assert Restarts().delay == 0
