# SPDX-License-Identifier: Apache-2.0
"""The listeners of the REST API and their sockets, and the URL for other workers."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from headrace.api.errors import ConfigError
from headrace.config.rest_config import ADMIN_LISTENERS, LISTENERS
from headrace.rest.server.connection_limits import ListeningSocket

_BACKLOG: Final = 128
_NO_SUCH_ADDRESS: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
_SCHEMES: Final = ("http", "https")


@dataclass(frozen=True, slots=True)
class Listener:
    """One entry of ``listeners``; an empty host means all interfaces, port 0 any free port."""

    host: str
    port: int
    scheme: str = "http"

    @classmethod
    def parse(cls, text: str, property: str = LISTENERS) -> Listener:
        """Parse ``http://host:port`` or ``https://host:port``. Raise ConfigError, with property and value, else."""
        try:
            parts = urlsplit(text.strip())
            port = parts.port
        except ValueError as error:
            raise ConfigError.invalid(property, text, str(error)) from error
        scheme = parts.scheme.lower()
        if scheme not in _SCHEMES or port is None or parts.path.strip("/"):
            reason = "a listener is written as http://host:port or https://host:port, host may be empty"
            raise ConfigError.invalid(property, text, reason)
        return cls("" if parts.hostname in (None, "0.0.0.0", "::") else parts.hostname or "", port, scheme)


@dataclass(frozen=True, slots=True)
class BoundListener:
    """A listener with its port known, and its sockets: a name may have several addresses."""

    listener: Listener
    sockets: tuple[ListeningSocket, ...]
    admin: bool = False
    """True for one of ``admin.listeners``."""


@dataclass(frozen=True, slots=True)
class BoundListeners:
    """Sockets that already accept connections; those that arrive before the server runs wait for it."""

    bound: tuple[BoundListener, ...]

    @classmethod
    def bind(cls, listeners: Sequence[str], admin: Sequence[str] = ()) -> BoundListeners:
        """Bind all. Raise ConfigError, of one line, for a port in use, a forbidden port, or an unknown host."""
        bound: list[BoundListener] = []
        try:
            bound += (_bound(text, LISTENERS) for text in listeners)
            bound += (_bound(text, ADMIN_LISTENERS) for text in admin)
        except ConfigError:
            cls(tuple(bound)).close()
            raise
        return cls(tuple(bound))

    @property
    def local_url(self) -> str:
        """The first listener's URL, as a user on this machine would write it."""
        first = self._regular()[0]
        return _url(first.scheme, first.host or "localhost", first.port)

    @property
    def admin_url(self) -> str | None:
        """As ``local_url``, of the first of ``admin.listeners``; None where there are none."""
        found = next((each.listener for each in self.bound if each.admin), None)
        return None if found is None else _url(found.scheme, found.host or "localhost", found.port)

    def advertised_url(self, host: str | None = None, port: int | None = None, scheme: str | None = None) -> str:
        """Return the URL for other workers, by ``rest.advertised.host.name``, ``.port`` and ``.listener`` if set.

        Of listeners of both schemes http is advertised. A scheme that no listener has is that of a proxy before the
        worker. Java: ``RestServer.advertisedUrl``.
        """
        regular = self._regular()
        scheme = scheme or ("http" if any(each.scheme == "http" for each in regular) else "https")
        first = next((each for each in regular if each.scheme == scheme), regular[0])
        return _url(scheme, host or first.host or socket.gethostname(), port or first.port)

    def close(self) -> None:
        """Close all sockets."""
        for each in self.bound:
            for bound in each.sockets:
                bound.close()

    def _regular(self) -> list[Listener]:
        return [each.listener for each in self.bound if not each.admin]


def _bound(text: str, property: str) -> BoundListener:
    listener = Listener.parse(text, property)
    opened = _bind(listener, text, property)
    port = opened[0].getsockname()[1]
    return BoundListener(replace(listener, port=port), tuple(opened), admin=property == ADMIN_LISTENERS)


def _url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _bind(listener: Listener, text: str, property: str) -> list[ListeningSocket]:
    opened: list[ListeningSocket] = []
    try:
        for family, host in _addresses(listener.host):
            port = opened[0].getsockname()[1] if opened else listener.port
            try:
                opened.append(_listen(family, host, port))
            except OSError as error:
                # A name such as localhost may have an address of a family that this machine does not support.
                if not opened or error.errno not in _NO_SUCH_ADDRESS:
                    raise
    except OSError as error:
        for bound in opened:
            bound.close()
        raise ConfigError.invalid(property, text, f"cannot listen there: {_reason(error)}") from error
    return opened


def _reason(error: OSError) -> str:
    return "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)


def _addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    if not host:
        return [(socket.AF_INET6, "::")] if socket.has_dualstack_ipv6() else [(socket.AF_INET, "")]
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found)
    return sorted(addresses, key=lambda address: address[0] != socket.AF_INET)


def _listen(family: socket.AddressFamily, host: str, port: int) -> ListeningSocket:
    dualstack = family == socket.AF_INET6 and host == "::"
    bound = ListeningSocket.of(
        socket.create_server((host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=dualstack, reuse_port=False)
    )
    # Connections inherit it. Without it an answer's body waits 40 ms for the acknowledgement of its head: the event
    # loop only sets it where the socket's protocol is named, which that of a socket by create_server is not.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound.setblocking(False)
    os.set_inheritable(bound.fileno(), False)
    return bound
