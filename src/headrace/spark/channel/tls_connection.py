# SPDX-License-Identifier: Apache-2.0
"""A TLS connection with the interface of ``multiprocessing``'s: one thread may wait for messages while another sends.

Python's TLS sockets do not allow that: they have one state for both directions, and hold it while they wait.
"""

from __future__ import annotations

import contextlib
import datetime
import pickle
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any, Final

from headrace.api.errors import ConfigError
from headrace.config.tls_files import private_file

_NAME: Final = "headrace-task-channel"
_CHUNK: Final = 1 << 18
_ALWAYS: Final = (
    datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC),
    datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC),
)
"""The validity of a certificate, which lives as long as its worker: clocks must not matter."""
_LENGTH: Final = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate with its key, both PEM. ``pem`` is handed to clients, so no authority is needed."""

    pem: str
    key: str = field(repr=False)

    @classmethod
    def make(cls) -> Certificate:
        """Make a certificate. ConfigError if the package cryptography is missing, as it may be on an executor."""
        try:
            from cryptography import x509
            from cryptography.hazmat.primitives import hashes, serialization
            from cryptography.hazmat.primitives.asymmetric import ec
        except ImportError as error:
            raise ConfigError(
                f"To encrypt what is said with executors, the Python of executors needs the package cryptography: "
                f"{error}; install it there, or set task.channel.tls=never on the worker if no other machine can listen"
            ) from error

        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
        signed = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(_ALWAYS[0])
            .not_valid_after(_ALWAYS[1])
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return cls(signed.public_bytes(serialization.Encoding.PEM).decode(), secret.decode())


def server_context(certificate: Certificate) -> ssl.SSLContext:
    """Return the context of a listener that has the certificate's key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with private_file(certificate.key + certificate.pem) as path:
        context.load_cert_chain(path)
    return context


def client_context(pem: str) -> ssl.SSLContext:
    """Return the context of a client that accepts this certificate alone, whatever the host's name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=pem)
    return context


class TlsConnection:
    """A TLS connection. One thread at a time may send, and one receive. Errors as ``multiprocessing``'s connections."""

    def __init__(self, raw: socket.socket, context: ssl.SSLContext, *, server_side: bool) -> None:
        """Make the handshake, within ``raw``'s timeout; ``raw`` belongs to this connection from then on."""
        self._raw = raw
        self._from_network, self._to_network = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._from_network, self._to_network, server_side=server_side)
        self._state = threading.Lock()
        self._received = bytearray()
        self._shake_hands()

    def send(self, message: object) -> None:
        self.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def recv(self) -> Any:
        """Return the next message. Only after authentication: unpickling runs code."""
        return pickle.loads(self.recv_bytes())

    def send_bytes(self, data: bytes | bytearray | memoryview) -> None:
        with self._state:
            self._tls.write(_LENGTH.pack(len(data)))
            if len(data):
                self._tls.write(data)
            encrypted = self._to_network.read()
        self._raw.sendall(encrypted)

    def recv_bytes(self, maxlength: int | None = None) -> bytes:
        """Return the next message. OSError if the other side announces more than ``maxlength`` bytes."""
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size))
        if maxlength is not None and length > maxlength:
            raise OSError(f"a message of {length} bytes where at most {maxlength} are expected")
        return self._take(length)

    def poll(self, timeout: float = 0.0) -> bool:
        """Return True if a message has begun to arrive, or the connection has ended, within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while not self._received:
            if not wait([self._raw], max(0.0, deadline - time.monotonic())):
                return False
            try:
                self._receive_more()
            except EOFError:
                return True
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def close(self) -> None:
        self._raw.close()

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._raw.sendall(self._to_network.read())
                self._feed()
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._raw.sendall(self._to_network.read())  # TLS's alert, which names the reason
                raise
        self._raw.sendall(self._to_network.read())
        self._decrypt()  # what came together with the end of the handshake

    def _take(self, length: int) -> bytes:
        while len(self._received) < length:
            self._receive_more()
        taken = bytes(memoryview(self._received)[:length])
        del self._received[:length]
        return taken

    def _receive_more(self) -> None:
        """Wait for the network once. TLS's own answers go with the next message that is sent."""
        self._feed()
        self._decrypt()

    def _decrypt(self) -> None:
        with self._state, contextlib.suppress(ssl.SSLWantReadError):
            while data := self._tls.read(_CHUNK):
                self._received += data

    def _feed(self) -> None:
        encrypted = self._raw.recv(_CHUNK)  # blocks, so without the lock
        if not encrypted:
            raise EOFError
        with self._state:
            self._from_network.write(encrypted)
