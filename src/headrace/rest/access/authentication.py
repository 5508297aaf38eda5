# SPDX-License-Identifier: Apache-2.0
"""Authentication: the users of requests, the interface of authenticators, and a rate limit on failed logins."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from starlette.types import Scope

from headrace.rest.server.connection_limits import address_key

_WINDOW_SECONDS: Final = 60.0
_MOST_ADDRESSES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Principal:
    """A user authenticated by ``method``: one of ``rest.authentication``, or ``extension``, or ``none``."""

    name: str
    groups: frozenset[str] = frozenset()
    method: str = "none"


ANONYMOUS: Final = Principal("anonymous")
"""The user where authentication is off."""


class RefusedCredentialsError(Exception):
    """Credentials that are present and invalid. The message is for the log, not for the client."""


class UndecidedCredentialsError(RefusedCredentialsError):
    """Credentials that cannot be checked now. It does not count as the client's failed login."""


class Authenticator(Protocol):
    """A way to authenticate requests."""

    @property
    def scheme(self) -> str | None:
        """The challenge in ``WWW-Authenticate`` of a 401; None for credentials that are not in a header."""

    async def authenticate(self, scope: Scope) -> Principal | None:
        """Return the user, None without credentials of this kind. Raise RefusedCredentialsError for invalid ones."""


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
