# SPDX-License-Identifier: Apache-2.0
"""Listening sockets that enforce connection limits, before anything is read and before TLS begins."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any, Final

from headrace.rest.connection_limits import ConnectionLimits

_REFUSED_IN_A_ROW: Final = 128
"""Refused connections after which the event loop gets its turn."""


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
