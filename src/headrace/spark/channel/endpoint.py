# SPDX-License-Identifier: Apache-2.0
"""Connections between a worker and its processes: a Unix socket on one machine, TCP, with or without TLS, on a cluster.

Both sides prove to each other that they know the endpoint's key before anything else is read.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeAlias, Union

from headrace.api.errors import ConfigError
from headrace.spark.channel.mutual_proof import prove_as_caller, prove_as_listener
from headrace.spark.channel.tls_connection import Certificate, TlsConnection, client_context, server_context

Address = str | tuple[str, int]
"""The path of a Unix socket, or host and port."""
Link: TypeAlias = Union["Connection[Any, Any]", TlsConnection]
"""A connection for pickled messages, or bytes; one thread at a time may send, and one receive."""

_CONNECT_TIMEOUT_S: Final = 10.0
"""Seconds to connect within, and to authenticate within."""
_IDLE_S, _PROBE_S, _PROBES, _UNANSWERED_MS = 5, 2, 3, 11_000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a listener, and the keys of both sides. It travels with jobs; its text shows no secret.

    ``certificate``, PEM, is the only one that is accepted from the listener; without it nothing is encrypted.
    """

    address: Address
    authkey: bytes = field(repr=False)
    certificate: str | None = field(default=None, repr=False)

    def connect(self) -> Link:
        """Connect and authenticate. OSError, EOFError or ``multiprocessing.AuthenticationError`` if that fails."""
        connected = _connected(self.address)
        with _closed_on_error(connected):
            context = client_context(self.certificate) if self.certificate is not None else None
            connection = _connection(connected, context, server_side=False)
        with _closed_on_error(connection), receive_timeout(connection):
            prove_as_caller(connection, self.authkey)
        return connection


@dataclass(frozen=True, slots=True)
class Interface:
    """The network interface of a listener: reached at ``host``, bound to ``bind``; encrypted if ``tls``."""

    host: str
    bind: str
    port: int = 0
    tls: bool = False


class ChannelListener:
    """A listener for authenticated connections.

    ``accept`` and ``admit`` are separate calls, so that a slow authentication does not delay other callers.
    """

    def __init__(self, place: Path | Interface) -> None:
        """Listen at ``place``: a Unix socket's path, in a directory that only this user may enter, or an interface.

        Raises:
            ConfigError: the address cannot be bound.
        """
        self._context: ssl.SSLContext | None = None
        self._certificate: str | None = None
        self._authkey = os.urandom(32)
        if isinstance(place, Path):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(str(place))
            self._address: Address = str(place)
        else:
            self._socket = _bound(place)
            self._address = (place.host, self._socket.getsockname()[1])
            if place.tls:
                certificate = Certificate.make()
                self._context, self._certificate = server_context(certificate), certificate.pem
        self._socket.listen(64)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self._address, self._authkey, self._certificate)

    def accept(self) -> socket.socket:
        """Wait for the next caller, which is not authenticated yet. OSError after ``close``."""
        return self._socket.accept()[0]

    def admit(self, caller: socket.socket) -> Link:
        """Authenticate the caller, which blocks up to some seconds. The errors are ``Endpoint.connect``'s."""
        with _closed_on_error(caller):
            connection = _connection(caller, self._context, server_side=True)
        with _closed_on_error(connection), receive_timeout(connection):
            prove_as_listener(connection, self._authkey)
        return connection

    def close(self) -> None:
        """Stop listening; wakes ``accept``."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if isinstance(self._address, str):
            Path(self._address).unlink(missing_ok=True)


def _bound(place: Interface) -> socket.socket:
    try:
        family = socket.getaddrinfo(place.bind, place.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((place.bind, place.port), family=family)
    except OSError as error:
        raise ConfigError(
            f"Tasks on a cluster could not reach this worker: it cannot listen at {place.bind}:{place.port}: {error}; "
            "spark.driver.host is the name by which executors reach this machine, spark.driver.bindAddress an address "
            "of its own, task.channel.port a free port"
        ) from error


def _connected(address: Address) -> socket.socket:
    if not isinstance(address, str):
        return socket.create_connection(address, timeout=_CONNECT_TIMEOUT_S)
    connected = socket.socket(socket.AF_UNIX)
    with _closed_on_error(connected):
        connected.connect(address)
    return connected


def _connection(raw: socket.socket, context: ssl.SSLContext | None, *, server_side: bool) -> Link:
    if raw.family != socket.AF_UNIX:
        _set_options(raw)
    if context is None:
        raw.setblocking(True)
        return Connection(raw.detach())
    raw.settimeout(_CONNECT_TIMEOUT_S)
    connection = TlsConnection(raw, context, server_side=server_side)
    raw.setblocking(True)
    return connection


def _set_options(raw: socket.socket) -> None:
    """Have messages go out at once, and a machine that vanishes silently be noticed within about ten seconds."""
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in {
        "TCP_KEEPIDLE": _IDLE_S,
        "TCP_KEEPINTVL": _PROBE_S,
        "TCP_KEEPCNT": _PROBES,
        "TCP_USER_TIMEOUT": _UNANSWERED_MS,
    }.items():
        if hasattr(socket, name):  # not every system has all of them
            raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


@contextmanager
def receive_timeout(connection: Link) -> Iterator[None]:
    """Raise an OSError within the block if the other side is silent for ``_CONNECT_TIMEOUT_S``."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        _set_receive_timeout(same, int(_CONNECT_TIMEOUT_S))
        yield
        _set_receive_timeout(same, 0)


def _set_receive_timeout(same: socket.socket, seconds: int) -> None:
    same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))


@contextmanager
def _closed_on_error(closable: socket.socket | Link) -> Iterator[None]:
    try:
        yield
    except BaseException:
        closable.close()
        raise
