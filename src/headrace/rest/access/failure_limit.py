# SPDX-License-Identifier: Apache-2.0
"""A rate limit on failed logins, by address."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headrace.rest.connection_limits import address_key

_WINDOW_SECONDS: Final = 60.0
_MOST_ADDRESSES: Final = 10_000


@dataclass(slots=True)
class _Failures:
    count: int
    since: float


class FailureLimit:
    """Failed logins counted by address, in windows of a minute. Belongs to one thread.

    The ten thousand addresses that failed last are remembered. All IPv6 addresses of one /64 network count as one.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        """``most``: failures in a window after which an address has to wait for its end."""
        self._most = most
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def wait(self, address: str) -> int:
        """Return the seconds that the address has to wait, 0 if it need not."""
        address = address_key(address)
        found = self._failures.get(address)
        if found is None or found.count < self._most:
            return 0
        left = found.since + _WINDOW_SECONDS - self._clock()
        if left <= 0:
            del self._failures[address]
        return max(0, math.ceil(left))

    def failed(self, address: str) -> None:
        """Count a failed login of the address."""
        address, now = address_key(address), self._clock()
        found = self._failures.pop(address, None)
        if found is None or now - found.since >= _WINDOW_SECONDS:
            found = _Failures(0, now)
        found.count += 1
        self._failures[address] = found
        if len(self._failures) > _MOST_ADDRESSES:
            self._failures.popitem(last=False)
