# SPDX-License-Identifier: Apache-2.0
"""Sockets that admit connections only within limits, before anything is read of them or TLS has begun."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any, Final

from headrace.rest.connection_limits import ConnectionLimits

_REFUSED_IN_A_ROW: Final = 128
"""Then the event loop has its turn, however many connections come."""


class ListeningSocket(socket.socket):
    """As any listening socket, until it is given ``limits``."""

    limits: ConnectionLimits | None = None

    @classmethod
    def of(cls, bound: socket.socket) -> ListeningSocket:
        """Take a socket over."""
        return cls(bound.family, bound.type, bound.proto, bound.detach())

    def accept(self) -> tuple[socket.socket, Any]:
        """As the event loop calls it. ConnectionAbortedError if many in a row were refused."""
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
    """A connection that says when it is closed."""

    limits: ConnectionLimits

    @classmethod
    def of(cls, accepted: socket.socket, limits: ConnectionLimits) -> _Counted:
        counted = cls(accepted.family, accepted.type, accepted.proto, accepted.detach())
        counted.limits = limits
        return counted

    def shut(self) -> None:
        """End it for both sides: the event loop reads the end and closes it, in the midst of a TLS handshake too."""
        with suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        # Before the file descriptor is free for another connection.
        if (number := self.fileno()) >= 0:
            self.limits.closed(number)
        super().close()
