# SPDX-License-Identifier: Apache-2.0
"""How many connections there may be, in all and of one address, and how long one may take to send a request."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

log = logging.getLogger(__name__)

_SECONDS_PER_LINE: Final = 60.0
_MARGIN_SECONDS: Final = 2.0
_IPV6_NETWORK: Final = 64
"""Bits of an address that are one party's: whoever has one address of version 6 has all of its network."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What a server bears of its clients; times in seconds."""

    connections: int = 500
    connections_per_address: int = 250
    header_timeout: float = 10.0
    body_timeout: float = 90.0
    keep_alive: float = 30.0


DEFAULT_LIMITS: Final = HttpLimits()


class Connection:
    """A connection as the limits see it: whose it is, and since when it waits for its client."""

    __slots__ = ("address", "deadline", "shut", "since")

    def __init__(self, address: str, shut: Callable[[], None]) -> None:
        """``shut`` ends the connection whatever it is at; its socket is closed later."""
        self.address = address
        self.shut = shut
        self.since: float | None = None
        """Since when the client is waited for; None while a request is worked on."""
        self.deadline: float | None = None


class ConnectionLimits:
    """Admits connections. For the thread of the server's event loop alone.

    At a limit the connection that has waited longest for its client makes room, of the same address at that
    address's limit, of the address with the most at the limit of all. So one that is admitted now is served now,
    however many half-open ones there are, and a new one is refused only where requests are worked on at all others.
    """

    def __init__(self, limits: HttpLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._connections: dict[int, Connection] = {}
        self._of_address: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._told = -_SECONDS_PER_LINE

    def admit(self, number: int, peer: str, shut: Callable[[], None]) -> bool:
        """Count the connection with this file descriptor, if there is or can be made room for it."""
        address = party(peer)
        if not self._room(address):
            self._refused[address] += 1
            return False
        connection = self._connections[number] = Connection(address, shut)
        self._of_address[address] += 1
        self.await_head(connection)
        return True

    def find(self, number: int) -> Connection | None:
        return self._connections.get(number)

    def closed(self, number: int) -> None:
        """The socket with this file descriptor is closed. No effect if it is not counted any more."""
        connection = self._connections.pop(number, None)
        if connection is None:
            return
        self._of_address[connection.address] -= 1
        if not self._of_address[connection.address]:
            del self._of_address[connection.address]

    def await_head(self, connection: Connection) -> None:
        """The client has connected, or begun with a request."""
        self._wait(connection, self.limits.header_timeout)

    def await_transfer(self, connection: Connection) -> None:
        """The client is to send the rest of a body, or to take in an answer."""
        self._wait(connection, self.limits.body_timeout)

    def rest(self, connection: Connection) -> None:
        """The client may send another request. After ``keep_alive`` the server has ended the wait itself as a rule."""
        self._wait(connection, self.limits.keep_alive + _MARGIN_SECONDS)

    def work(self, connection: Connection) -> None:
        """A whole request is there: nothing is expected of the client."""
        connection.since = connection.deadline = None

    def tick(self) -> None:
        """End what has waited for too long, and log once a minute at most what was ended and refused."""
        now = self._clock()
        late = [
            number for number, each in self._connections.items() if each.deadline is not None and each.deadline <= now
        ]
        for number in late:
            self._end(number)
        if (self._ended or self._refused) and now - self._told >= _SECONDS_PER_LINE:
            self._told = now
            self._tell()

    def _wait(self, connection: Connection, seconds: float) -> None:
        connection.since = now = self._clock()
        connection.deadline = now + seconds

    def _room(self, address: str) -> bool:
        if self._of_address[address] >= self.limits.connections_per_address:
            return self._make_room(address)
        if len(self._connections) < self.limits.connections:
            return True
        return any(self._make_room(largest) for largest, _ in self._of_address.most_common())

    def _make_room(self, address: str) -> bool:
        waiting = (
            (each.since, number)
            for number, each in self._connections.items()
            if each.since is not None and each.address == address
        )
        longest = min(waiting, default=None)
        if longest is None:
            return False
        self._end(longest[1])
        return True

    def _end(self, number: int) -> None:
        connection = self._connections[number]
        self._ended[connection.address] += 1
        self.closed(number)
        connection.shut()

    def _tell(self) -> None:
        ended, refused = self._ended.total(), self._refused.total()
        address, most = (self._ended + self._refused).most_common(1)[0]
        log.warning(
            "Ended %d connections to the REST API that sent no whole request in time or had to make room, and refused "
            "%d, most of them of %s (%d); %d are open. Limits are rest.max.connections=%d, "
            "rest.max.connections.per.address=%d, rest.header.timeout.ms=%d",
            *(ended, refused, address, most, len(self._connections)),
            *(self.limits.connections, self.limits.connections_per_address, self.limits.header_timeout * 1000),
        )
        self._ended.clear()
        self._refused.clear()


@lru_cache(maxsize=1024)
def party(peer: str) -> str:
    """The address that connections of a peer are counted under."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))
