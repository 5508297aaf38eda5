# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGINT in the processes below a worker, which the worker ends itself, in its order.

The signals reach them too: systemd sends SIGTERM to all processes of a service, a terminal SIGINT to all of its group.
Tasks could commit nothing any more without their JVM, and the worker would start another one.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import Final

_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM)


def ignore_stop_signals() -> None:
    """Ignore the signals, for a program that this process is about to become: a JVM leaves them ignored."""
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN)


def block_stop_signals() -> None:
    """Block the signals in this process and its forks, whatever handlers PySpark installs in them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)


def outlive_stop_signals() -> None:
    """Handle the signals by doing nothing. On the main thread.

    Ignored or blocked ones would be so in programs that a task starts, which could not be terminated then.
    """
    for number in _NUMBERS:
        signal.signal(number, _do_nothing)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _NUMBERS)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal."""
