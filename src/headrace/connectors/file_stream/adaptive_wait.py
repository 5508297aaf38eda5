# SPDX-License-Identifier: Apache-2.0
"""Waits between polls of a source that gives no notice of new data."""

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
    """A wait of an eighth of the time since the last activity, within 2 and 100 ms.

    So data that comes every 50 ms is seen within a few ms, and an idle source costs ten polls a second.
    `wake` may be called from any thread, the rest belongs to one thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._active_at = clock()
        self._woken = False
        # Half the cost of a wait on a threading.Event, which is most of the CPU time of an idle task.
        self._readable, self._writable = os.pipe()
        self._poll = select.poll()
        self._poll.register(self._readable, select.POLLIN)

    def __del__(self) -> None:
        os.close(self._readable)
        os.close(self._writable)

    @property
    def woken(self) -> bool:
        """True once `wake` was called."""
        return self._woken

    def active(self) -> None:
        """Note that there was data: the next waits are short."""
        self._active_at = self._clock()

    def delay(self) -> float:
        """Return the duration of the next wait, in seconds."""
        return min(max((self._clock() - self._active_at) / _SHARE, _SHORTEST), _LONGEST)

    def wait(self) -> None:
        """Wait; return at once after `wake`."""
        self._poll.poll(self.delay() * 1000)

    def wake(self) -> None:
        """End the present wait and all future ones."""
        self._woken = True
        os.write(self._writable, b".")
