# SPDX-License-Identifier: Apache-2.0
"""Calls on threads of their own, which a hanging one neither holds up nor keeps from ending."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class TimedCall(Generic[_Result]):
    """A call that must not raise, the seconds that it may take, and the result of one that takes longer."""

    call: Callable[[], _Result]
    seconds: float
    late: _Result


def call_all(calls: Sequence[TimedCall[_Result]]) -> list[_Result]:
    """Make all calls at once, and return their results in order. Blocks for the longest of their times at most.

    Not an executor: Python waits for its threads at the exit, and a look-up of a name can hang for minutes.
    """
    results = [each.late for each in calls]

    def run(index: int) -> None:
        results[index] = calls[index].call()

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(calls))]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    found = []
    for index, thread in enumerate(threads):
        thread.join(max(0.0, started + calls[index].seconds - time.monotonic()))
        found.append(results[index])
    return found
