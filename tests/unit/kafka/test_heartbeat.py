# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

import pytest

from headrace.kafka.group.group_membership import EagerHeartbeat
from tests.unit.clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def beats(heartbeat: EagerHeartbeat, clock: Clock, seconds: float) -> list[float]:
    """The pauses between the heartbeats of so many seconds after a round."""
    heartbeat.reset_timeouts()
    end, pauses = clock.now + seconds, []
    while clock.now < end:
        pauses.append(heartbeat.time_to_next_heartbeat())
        clock.now += pauses[-1]
        assert heartbeat.time_to_next_heartbeat() == pytest.approx(0.0, abs=1e-6)
        heartbeat.sent_heartbeat()
    return pauses


def test_heartbeats_become_more_seldom_after_a_round(clock: Clock) -> None:
    heartbeat = EagerHeartbeat(group_id="g", heartbeat_interval_ms=3000, session_timeout_ms=10_000)
    for _ in range(2):
        pauses = beats(heartbeat, clock, 60)
        assert pauses[0] == pytest.approx(0.1)
        assert pauses == sorted(pauses)
        assert pauses[-1] == pytest.approx(3.0)
        assert len(pauses) < 60


def test_heartbeats_are_never_more_seldom_than_configured(clock: Clock) -> None:
    heartbeat = EagerHeartbeat(group_id="g", heartbeat_interval_ms=50, session_timeout_ms=1000)
    assert all(pause == pytest.approx(0.05) for pause in beats(heartbeat, clock, 5))


def test_a_heartbeat_that_failed_is_repeated_after_the_backoff(clock: Clock) -> None:
    heartbeat = EagerHeartbeat(group_id="g", heartbeat_interval_ms=3000, retry_backoff_ms=700)
    heartbeat.reset_timeouts()
    heartbeat.fail_heartbeat()
    assert heartbeat.time_to_next_heartbeat() == pytest.approx(0.7)
