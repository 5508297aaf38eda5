# SPDX-License-Identifier: Apache-2.0
"""Connections between processes of ours: over a Unix socket on one machine, over TCP, with TLS if wanted, on a cluster.

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
"""Sends and receives pickled messages, or bytes; by one thread each at a time."""

_PATIENCE: Final = 10.0
"""Seconds to connect in, and to prove oneself in."""
_IDLE_S, _PROBE_S, _PROBES, _UNANSWERED_MS = 5, 2, 3, 11_000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where somebody listens, and what proves both sides. It travels with jobs; its text shows no secret.

    ``certificate``, PEM, is the only one that is accepted of the listener; without it nothing is encrypted.
    """

    address: Address
    authkey: bytes = field(repr=False)
    certificate: str | None = field(default=None, repr=False)

    def connect(self) -> Link:
        """OSError, EOFError or ``multiprocessing.AuthenticationError``."""
        connected = _connected(self.address)
        with _closed_on_error(connected):
            context = client_context(self.certificate) if self.certificate is not None else None
            connection = _connection(connected, context, server_side=False)
        with _closed_on_error(connection), _impatient(connection):
            prove_as_caller(connection, self.authkey)
        return connection


@dataclass(frozen=True, slots=True)
class Interface:
    """Where a listener of this process is to be: reached at ``host``, bound to ``bind``. ``tls``: encrypted."""

    host: str
    bind: str
    port: int = 0
    tls: bool = False


class Doorway:
    """A listener. ``accept`` and ``admit`` are apart: who is slow to prove itself must not keep the others out."""

    def __init__(self, place: Path | Interface) -> None:
        """``place`` is the path of a Unix socket, in a directory that only we may enter, or an interface.

        Raises:
            ConfigError: nobody can listen there.
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
        """Waits for the next caller, of whom nothing is known yet. OSError after ``close``."""
        return self._socket.accept()[0]

    def admit(self, caller: socket.socket) -> Link:
        """Blocks until the caller has proved itself, up to some seconds. The errors are ``Endpoint.connect``'s."""
        with _closed_on_error(caller):
            connection = _connection(caller, self._context, server_side=True)
        with _closed_on_error(connection), _impatient(connection):
            prove_as_listener(connection, self._authkey)
        return connection

    def close(self) -> None:
        """Wakes ``accept``."""
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
        return socket.create_connection(address, timeout=_PATIENCE)
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
    raw.settimeout(_PATIENCE)
    connection = TlsConnection(raw, context, server_side=server_side)
    raw.setblocking(True)
    return connection


def _set_options(raw: socket.socket) -> None:
    """Messages go out at once, and a machine that vanishes without a word is noticed within about ten seconds."""
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
def _impatient(connection: Link) -> Iterator[None]:
    """Within the block a silent other side is an OSError."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        _receive_within(same, int(_PATIENCE))
        yield
        _receive_within(same, 0)


def _receive_within(same: socket.socket, seconds: int) -> None:
    same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))


@contextmanager
def _closed_on_error(closable: socket.socket | Link) -> Iterator[None]:
    try:
        yield
    except BaseException:
        closable.close()
        raise
