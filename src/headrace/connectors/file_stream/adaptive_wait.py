# SPDX-License-Identifier: Apache-2.0
"""Waiting for something that only looking again can tell."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Final

_SHORTEST: Final = 0.002
_LONGEST: Final = 0.1
_SHARE: Final = 8


class AdaptiveWait:
    """Waits an eighth of the time that has passed since the last activity, within 2 and 100 ms.

    So data that comes every 50 ms is seen within a few ms, and a source that is quiet costs ten looks a second.
    `wake` may be called from any thread, the rest belongs to one thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._active_at = clock()
        self._woken = False
        # Half the price of a wait on a threading.Event, which is most of what an idle task costs.
        self._readable, self._writable = os.pipe()
        self._poll = select.poll()
        self._poll.register(self._readable, select.POLLIN)

    def __del__(self) -> None:
        os.close(self._readable)
        os.close(self._writable)

    @property
    def woken(self) -> bool:
        """Whether `wake` was called."""
        return self._woken

    def active(self) -> None:
        """There was something: look again soon."""
        self._active_at = self._clock()

    def delay(self) -> float:
        """How long the next wait lasts, in seconds."""
        return min(max((self._clock() - self._active_at) / _SHARE, _SHORTEST), _LONGEST)

    def wait(self) -> None:
        """Wait; not at all after `wake`."""
        self._poll.poll(self.delay() * 1000)

    def wake(self) -> None:
        """End the wait, and all to come."""
        self._woken = True
        os.write(self._writable, b".")
