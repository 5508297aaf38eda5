# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition: poll it, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 3
"""How much slower than the author's a machine may be before a test gives up; what holds is seen as early as ever."""


_SHORTEST_S = 0.02
_LONGEST_S = 0.1
_LONGEST_AFTER_COSTLY_LOOKS_S = 0.25


def wait_for(
    condition: Callable[[], T],
    seconds: float = 60.0,
    what: str | Callable[[], str] = "condition",
    pause: float | None = None,
) -> T:
    """The first truthy value of ``condition``; AssertionError that says ``what`` was waited for.

    ``seconds`` are those of an idle machine. That something comes at all is what is asked: for when, see ``within``.
    ``pause``: seconds between two looks; by default the more, the longer the wait and each look take.
    """
    return within(seconds * PATIENCE, condition, what, pause)


def within(
    seconds: float,
    condition: Callable[[], T],
    what: str | Callable[[], str] = "condition",
    pause: float | None = None,
) -> T:
    """The same where ``seconds`` are what the test claims, on whatever machine: they are taken as they are.

    What it is to be sooner than, such as a session's timeout, should lie several times as far away.
    """
    begun = looked = time.monotonic()
    while not (value := condition()):
        now = time.monotonic()
        if (left := begun + seconds - now) < 0:
            raise AssertionError(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(min(left, _pause(now - begun, now - looked) if pause is None else pause))
        looked = time.monotonic()
    return value


def _pause(waited: float, look: float) -> float:
    """Seconds until the next look: looks without end take the processor from what is waited for."""
    return max(_SHORTEST_S, min(waited / 50, _LONGEST_S), min(4 * look, _LONGEST_AFTER_COSTLY_LOOKS_S))
