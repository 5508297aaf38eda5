# SPDX-License-Identifier: Apache-2.0
"""The switch interval of a worker with many tasks, and what the waiting threads cost with and without it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.model.thread_switching import switch_interval

_THREADS, _TASKS = 100, 500
_WAKES = """
import ctypes, os, resource, select, sys, threading, time
from headrace.model.thread_switching import adapt_switch_interval
threads, tasks = map(int, sys.argv[1:])
adapt_switch_interval(tasks)
threading.stack_size(1 << 17)
readable, writable = os.pipe()
for _ in range(threads):
    threading.Thread(target=select.select, args=([readable], [], []), daemon=True).start()
switches, began = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw, time.monotonic()
ctypes.PyDLL(None).write(writable, b".", 1)  # with the lock, as all that follows: each thread waits for it now
sum(range(5 * 10**7))
seconds = time.monotonic() - began
print((resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - switches) / seconds)
"""


@pytest.mark.parametrize(
    ("tasks", "seconds"), [(0, 0.005), (1, 0.005), (50, 0.005), (400, 0.04), (1_000, 0.1), (5_000, 0.1)]
)
def test_the_interval_grows_with_the_tasks(tasks: int, seconds: float) -> None:
    assert switch_interval(tasks) == pytest.approx(seconds)


def test_threads_that_wait_for_the_lock_wake_less_often() -> None:
    """20 times a second each: 2,000 times in all, and some at the start. At Python's interval it is 20,000."""
    command = [sys.executable, "-c", _WAKES, str(_THREADS), str(_TASKS)]
    wakes_per_second = float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)
    assert wakes_per_second < 3_000
