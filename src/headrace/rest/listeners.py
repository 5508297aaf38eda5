# SPDX-License-Identifier: Apache-2.0
"""Where the REST API listens, and by which URL other workers reach it."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from headrace.api.errors import ConfigError

_PROPERTY: Final = "listeners"
_BACKLOG: Final = 128
_NO_SUCH_ADDRESS: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


@dataclass(frozen=True, slots=True)
class Listener:
    """One entry of ``listeners``; an empty host means all interfaces, port 0 any free port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Listener:
        """ConfigError, naming property and value, for what is no ``http://host:port``."""
        try:
            parts = urlsplit(text.strip())
            port = parts.port
        except ValueError as error:
            raise ConfigError.invalid(_PROPERTY, text, str(error)) from error
        if parts.scheme.lower() == "https":
            raise ConfigError.invalid(_PROPERTY, text, "https is not supported yet; use http://host:port")
        if parts.scheme.lower() != "http" or port is None or parts.path.strip("/"):
            raise ConfigError.invalid(_PROPERTY, text, "a listener is written as http://host:port, host may be empty")
        return cls("" if parts.hostname in (None, "0.0.0.0", "::") else parts.hostname or "", port)


@dataclass(frozen=True, slots=True)
class BoundListeners:
    """Sockets that already accept connections; what arrives before the server runs waits for it."""

    listeners: tuple[Listener, ...]
    sockets: tuple[socket.socket, ...]

    @classmethod
    def bind(cls, listeners: Sequence[str]) -> BoundListeners:
        """ConfigError, of one line, for a port in use, one that may not be used, or an unknown host."""
        bound: list[Listener] = []
        sockets: list[socket.socket] = []
        try:
            for text in listeners:
                listener = Listener.parse(text)
                opened = _bind(listener, text)
                sockets += opened
                bound.append(Listener(listener.host, opened[0].getsockname()[1]))
        except ConfigError:
            for opened_socket in sockets:
                opened_socket.close()
            raise
        return cls(tuple(bound), tuple(sockets))

    @property
    def local_url(self) -> str:
        """The first listener's URL, as a user on this machine would write it."""
        return _url(self.listeners[0].host or "localhost", self.listeners[0].port)

    def advertised_url(self, host: str | None = None, port: int | None = None) -> str:
        """The URL for other workers, from ``rest.advertised.host.name`` and ``.port`` where they are set."""
        first = self.listeners[0]
        return _url(host or first.host or socket.gethostname(), port or first.port)

    def close(self) -> None:
        for bound in self.sockets:
            bound.close()


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bind(listener: Listener, text: str) -> list[socket.socket]:
    opened: list[socket.socket] = []
    try:
        for family, host in _addresses(listener.host):
            port = opened[0].getsockname()[1] if opened else listener.port
            try:
                opened.append(_listen(family, host, port))
            except OSError as error:
                # A name such as localhost may have an address of a family that this machine does without.
                if not opened or error.errno not in _NO_SUCH_ADDRESS:
                    raise
    except OSError as error:
        for bound in opened:
            bound.close()
        raise ConfigError.invalid(_PROPERTY, text, f"cannot listen there: {_reason(error)}") from error
    return opened


def _reason(error: OSError) -> str:
    return "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)


def _addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    if not host:
        return [(socket.AF_INET6, "::")] if socket.has_dualstack_ipv6() else [(socket.AF_INET, "")]
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found)
    return sorted(addresses, key=lambda address: address[0] != socket.AF_INET)


def _listen(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    dualstack = family == socket.AF_INET6 and host == "::"
    bound = socket.create_server(
        (host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=dualstack, reuse_port=False
    )
    bound.setblocking(False)
    os.set_inheritable(bound.fileno(), False)
    return bound
