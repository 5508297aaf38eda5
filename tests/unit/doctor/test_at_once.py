# SPDX-License-Identifier: Apache-2.0
"""Calls on threads of their own."""

from __future__ import annotations

import threading
import time
from functools import partial

from headrace.doctor.runner import TimedCall, call_all


def test_a_call_that_hangs_is_late_after_its_own_time_and_the_others_are_in_order() -> None:
    never = threading.Event()

    def call(item: int) -> str:
        if item == 2:
            never.wait()
        return str(item)

    calls = [TimedCall(partial(call, item), 0.3 if item == 2 else 60, f"{item} is late") for item in (1, 2, 3)]
    began = time.monotonic()
    assert call_all(calls) == ["1", "2 is late", "3"]
    assert time.monotonic() - began < 30
    never.set()


def test_nothing_to_call() -> None:
    assert call_all([]) == []
