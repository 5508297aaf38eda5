# SPDX-License-Identifier: Apache-2.0
"""Has Linux end a process with its parent, whatever the process does: hang in code of its own, or stand still."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_forks_with_this_process() -> None:
    """From now on each process that this one forks is killed when this one ends. Its own forks are its own business.

    For a process of one thread: Linux takes the thread that forked for the parent.
    """
    if sys.platform != "linux":
        return
    tie_to_us, tied = end_with_this_thread(), False

    def tie() -> None:
        nonlocal tied
        if tied:  # this is a fork of a fork
            return
        tied = True
        tie_to_us()

    os.register_at_fork(after_in_child=tie)


def end_with_this_thread() -> Callable[[], None]:
    """For a child to call, at once after this thread has forked it: from then on it is killed when this thread ends.

    It does nothing where the system is not Linux.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the request
            os._exit(1)

    return tie
