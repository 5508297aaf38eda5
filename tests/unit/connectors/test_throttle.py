# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import time

import pytest

from headrace.connectors.file_stream import followed_file
from headrace.connectors.file_stream.followed_file import AdaptiveWait
from headrace.connectors.testing.numbered_source import Throttle


@pytest.mark.parametrize("rate", [0.5, 1, 3, 1000, 33333])
@pytest.mark.parametrize("step", [0.0004, 0.007])
def test_the_rate_is_kept_and_never_exceeded(rate: float, step: float) -> None:
    throttle, sent = Throttle(rate, 10.0), 0
    for tick in range(1, 2001):
        now = 10.0 + tick * step
        count = throttle.due(now, 100_000)
        throttle.sent(count)
        sent += count
        assert (now - 10.0) * rate - 1e-6 <= sent <= (now - 10.0) * rate + 1


def test_after_the_wait_the_next_record_is_due() -> None:
    throttle = Throttle(8, 0.0)
    assert throttle.due(0.0, 10) == 1
    throttle.sent(1)
    assert throttle.due(0.0, 10) == 0
    assert throttle.wait(0.0) == 0.125
    assert throttle.due(0.125, 10) == 1


def test_who_lags_catches_up_a_second_and_no_more() -> None:
    throttle = Throttle(100, 0.0)
    throttle.sent(throttle.due(0.0, 1))
    assert throttle.due(0.5, 1000) == 50
    assert throttle.due(60.0, 1000) == 101


def test_the_limit_holds() -> None:
    assert Throttle(1000, 0.0).due(0.5, 7) == 7
    assert Throttle(-1, 0.0).due(0.0, 7) == 7


def test_no_throughput_is_never_due() -> None:
    throttle = Throttle(0, 0.0)
    assert throttle.due(1000.0, 10) == 0
    assert throttle.wait(1000.0) == math.inf


def test_the_wait_grows_with_the_quiet_and_is_short_again_after_activity() -> None:
    now = 0.0
    wait = AdaptiveWait(lambda: now)
    assert wait.delay() == 0.002
    now = 0.08
    assert wait.delay() == pytest.approx(0.01)
    now = 2.0
    assert wait.delay() == 0.25
    now = 60.0
    assert wait.delay() == 1
    wait.active()
    assert wait.delay() == 0.002


def test_an_interrupt_ends_one_wait_and_a_wake_all(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, *[3600.0] * 9])
    wait = AdaptiveWait(lambda: next(times))
    wait.interrupt()
    wait.interrupt()
    assert wait.wait()
    assert not wait.wait(), "both interrupts have ended the one before, so this one lasts its second"
    monkeypatch.setattr(followed_file, "_LONGEST", 60.0)
    wait.interrupt()
    wait.wake()
    began = time.monotonic()
    assert not wait.wait() and not wait.wait() and wait.woken
    assert time.monotonic() - began < 30
