# SPDX-License-Identifier: Apache-2.0
"""Python's switch interval of a worker, which is longer with more tasks.

A thread that waits for the interpreter's lock wakes at each switch interval to demand it. Each task has threads in the
worker, which wait for messages of its process, and a worker at work holds the lock for long enough that hundreds of
messages arrive meanwhile. At Python's 5 ms the wakes of some hundred waiting threads leave little CPU to the thread
with the lock: a worker with 529 tasks stood still.
"""

from __future__ import annotations

import sys
from typing import Final

_FEW_TASKS_S: Final = 0.005
"""Seconds, as Python's own."""
_PER_TASK_S: Final = 0.0001
_LONGEST_S: Final = 0.1
"""A request of the REST API may wait as long for a thread that computes."""


def switch_interval(tasks: int) -> float:
    """Return the seconds for so many tasks: with one waiting thread for each, all wake 10,000 times a second at most.

    More than a thousand tasks have no longer interval than a thousand.
    """
    return min(_LONGEST_S, max(_FEW_TASKS_S, tasks * _PER_TASK_S))


def adapt_switch_interval(tasks: int) -> None:
    """Set the interval of this process' threads. Any thread."""
    sys.setswitchinterval(switch_interval(tasks))
