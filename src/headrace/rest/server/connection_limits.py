# SPDX-License-Identifier: Apache-2.0
"""Limits on connections, in total and per address, and timeouts for clients to send their requests."""

from __future__ import annotations

import ipaddress
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

log = logging.getLogger(__name__)

_SECONDS_PER_LINE: Final = 60.0
_MARGIN_SECONDS: Final = 2.0
_IPV6_NETWORK: Final = 64
"""Prefix length counted as one client: the holder of one IPv6 address has all of its network."""

_REFUSED_IN_A_ROW: Final = 128
"""Refused connections after which the event loop gets its turn."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """A server's limits for its clients; times in seconds."""

    connections: int = 500
    connections_per_address: int = 250
    header_timeout: float = 10.0
    body_timeout: float = 90.0
    keep_alive: float = 30.0


DEFAULT_LIMITS: Final = HttpLimits()


class Connection:
    """A counted connection: its client's address, and the time since which it waits for the client."""

    __slots__ = ("address", "deadline", "shut", "since")

    def __init__(self, address: str, shut: Callable[[], None]) -> None:
        """``shut`` ends the connection in any state; the event loop closes its socket later."""
        self.address = address
        self.shut = shut
        self.since: float | None = None
        """Start of the wait for the client; None while a request is processed."""
        self.deadline: float | None = None


class ConnectionLimits:
    """Admission of connections. Used on the server's event loop only.

    At a limit, the connection that has waited longest for its client is closed to make room: of the same address at
    that address's limit, of the address with the most connections at the total limit. So an admitted connection is
    served at once, however many half-open ones there are, and a new one is refused only while all others have requests
    in progress.
    """

    def __init__(self, limits: HttpLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._connections: dict[int, Connection] = {}
        self._of_address: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._logged_at = -_SECONDS_PER_LINE

    def admit(self, number: int, peer: str, shut: Callable[[], None]) -> bool:
        """Count the connection with this file descriptor; return False if there is no room and none can be made."""
        address = address_key(peer)
        if not self._room(address):
            self._refused[address] += 1
            return False
        connection = self._connections[number] = Connection(address, shut)
        self._of_address[address] += 1
        self.await_head(connection)
        return True

    def find(self, number: int) -> Connection | None:
        """Return the counted connection with this file descriptor."""
        return self._connections.get(number)

    def closed(self, number: int) -> None:
        """Note that the socket with this file descriptor is closed; no effect if it is not counted."""
        connection = self._connections.pop(number, None)
        if connection is None:
            return
        self._of_address[connection.address] -= 1
        if not self._of_address[connection.address]:
            del self._of_address[connection.address]

    def await_head(self, connection: Connection) -> None:
        """Start the timeout for a request's head: the client has connected, or begun a request."""
        self._wait(connection, self.limits.header_timeout)

    def await_transfer(self, connection: Connection) -> None:
        """Start the timeout for the client to send the rest of a body, or to read an answer."""
        self._wait(connection, self.limits.body_timeout)

    def mark_idle(self, connection: Connection) -> None:
        """Start the timeout for another request. Usually the server itself closes after ``keep_alive`` seconds."""
        self._wait(connection, self.limits.keep_alive + _MARGIN_SECONDS)

    def mark_busy(self, connection: Connection) -> None:
        """Stop the timeout: a whole request is there, and nothing is expected of the client."""
        connection.since = connection.deadline = None

    def tick(self) -> None:
        """End connections past their deadlines; log the ended and refused ones, at most once a minute."""
        now = self._clock()
        late = [
            number for number, each in self._connections.items() if each.deadline is not None and each.deadline <= now
        ]
        for number in late:
            self._end(number)
        if (self._ended or self._refused) and now - self._logged_at >= _SECONDS_PER_LINE:
            self._logged_at = now
            self._log_counts()

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

    def _log_counts(self) -> None:
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
def address_key(peer: str) -> str:
    """Return the address, or the IPv6 network, that a peer's connections are counted under."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))


class ListeningSocket(socket.socket):
    """A listening socket that admits connections by its ``limits``, and all of them without."""

    limits: ConnectionLimits | None = None

    @classmethod
    def of(cls, bound: socket.socket) -> ListeningSocket:
        """Take over the file descriptor of ``bound``."""
        return cls(bound.family, bound.type, bound.proto, bound.detach())

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept for the event loop. Raise ConnectionAbortedError after many refusals in a row."""
        for _ in range(_REFUSED_IN_A_ROW):
            accepted, peer = super().accept()
            if self.limits is None:
                return accepted, peer
            connection = _Counted.of(accepted, self.limits)
            if self.limits.admit(connection.fileno(), peer[0], connection.shut):
                return connection, peer
            connection.close()
        raise ConnectionAbortedError("Connections are refused")


class _Counted(socket.socket):
    """A connection that reports its end to the limits."""

    limits: ConnectionLimits

    @classmethod
    def of(cls, accepted: socket.socket, limits: ConnectionLimits) -> _Counted:
        counted = cls(accepted.family, accepted.type, accepted.proto, accepted.detach())
        counted.limits = limits
        return counted

    def shut(self) -> None:
        """Shut down both directions: the event loop reads the end and closes it, also during a TLS handshake."""
        with suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        # Before the file descriptor can be reused for another connection.
        if (number := self.fileno()) >= 0:
            self.limits.closed(number)
        super().close()
