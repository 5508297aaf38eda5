# SPDX-License-Identifier: Apache-2.0
"""The end of a process with its parent, by Linux, even if the process hangs."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_forks_with_this_process() -> None:
    """Have each process that this one forks from now on killed when this one ends; forks of forks are not affected.

    For a process of one thread: Linux takes the thread that forked for the parent.
    """
    if sys.platform != "linux":
        return
    tie_to_this_thread, tied = end_with_this_thread(), False

    def tie() -> None:
        nonlocal tied
        if tied:  # this is a fork of a fork
            return
        tied = True
        tie_to_this_thread()

    os.register_at_fork(after_in_child=tie)


def end_with_this_thread() -> Callable[[], None]:
    """Return a function for a child to call right after this thread has forked it, to be killed when this thread ends.

    The function does nothing if the system is not Linux.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the request
            os._exit(1)

    return tie
