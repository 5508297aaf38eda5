# SPDX-License-Identifier: Apache-2.0
"""Has Linux end a process with its parent, whatever the process does: hang in code of its own, or stand still."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_forks_with_this_process() -> None:
    """From now on each process that this one forks is killed when this one ends. Its own forks are its own business.

    For a process of one thread: Linux takes the thread that forked for the parent.
    """
    if sys.platform != "linux":
        return
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()
    tied = False

    def tie() -> None:
        nonlocal tied
        if tied:  # this is a fork of a fork
            return
        tied = True
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the request
            os._exit(1)

    os.register_at_fork(after_in_child=tie)
