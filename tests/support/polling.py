# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition: poll it, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
What = str | Callable[[], str]
PATIENCE = 3
"""How much slower than the author's a machine may be before a test gives up; what holds is seen as early as ever."""


def wait_for(condition: Callable[[], T], seconds: float = 60.0, what: What = "condition", pause: float = 0) -> T:
    """The first truthy value of ``condition``; AssertionError that says ``what`` was waited for.

    ``seconds`` are those of an idle machine. That something comes at all is what is asked: for when, see ``within``.
    ``pause``: seconds between two looks; by default (0) the more, the longer the wait and each look take.
    """
    return within(seconds * PATIENCE, condition, what, pause)


def within(seconds: float, condition: Callable[[], T], what: What = "condition", pause: float = 0) -> T:
    """The same where ``seconds`` are what the test claims, on whatever machine: they are taken as they are.

    What it is to be sooner than, such as a session's timeout, should lie several times as far away.
    """
    begun = looked = time.monotonic()
    while not (value := condition()):
        now = time.monotonic()
        if (left := begun + seconds - now) < 0:
            raise AssertionError(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
        # Looks without end take the processor from what is waited for.
        usual = max(0.02, min((now - begun) / 50, 0.1), min(4 * (now - looked), 0.25))
        time.sleep(min(left, pause or usual))
        looked = time.monotonic()
    return value
