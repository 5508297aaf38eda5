# SPDX-License-Identifier: Apache-2.0
"""Mutual authentication of a connection's two sides, which prove by HMAC-SHA256 that they know a key.

The standard library's hashes with MD5 up to Python 3.11, which machines in FIPS mode do not have, and from 3.12 on it
negotiates the hash, which the other side's Python may not know. The proofs of the two roles differ.
"""

from __future__ import annotations

import hmac
import os
from multiprocessing import AuthenticationError
from typing import Final, Protocol

_CHALLENGE_BYTES: Final = 32
_MAX_MESSAGE_BYTES: Final = 64
"""Bytes of a message that are accepted before authentication."""
_CALLER, _LISTENER = b"headrace caller", b"headrace listener"
_WELCOME, _REFUSED = b"welcome", b"refused"


class Messages(Protocol):
    """A connection of ``multiprocessing``'s kind."""

    def send_bytes(self, buf: bytes) -> None: ...

    def recv_bytes(self, maxlength: int | None = None) -> bytes: ...


def prove_as_caller(connection: Messages, key: bytes) -> None:
    """Authenticate as the side that connected. OSError, EOFError, or AuthenticationError if a key is wrong."""
    _prove(connection, key, _CALLER)
    _verify(connection, key, _LISTENER)


def prove_as_listener(connection: Messages, key: bytes) -> None:
    """Authenticate as the side that listens; the caller proves its key first. Errors as ``prove_as_caller``."""
    _verify(connection, key, _CALLER)
    _prove(connection, key, _LISTENER)


def _prove(connection: Messages, key: bytes, role: bytes) -> None:
    challenge = connection.recv_bytes(_MAX_MESSAGE_BYTES)
    if len(challenge) != _CHALLENGE_BYTES:
        raise AuthenticationError("what came is no challenge")
    connection.send_bytes(_proof(key, role, challenge))
    if connection.recv_bytes(_MAX_MESSAGE_BYTES) != _WELCOME:
        raise AuthenticationError("the other side has another key")


def _verify(connection: Messages, key: bytes, role: bytes) -> None:
    challenge = os.urandom(_CHALLENGE_BYTES)
    connection.send_bytes(challenge)
    if not hmac.compare_digest(connection.recv_bytes(_MAX_MESSAGE_BYTES), _proof(key, role, challenge)):
        connection.send_bytes(_REFUSED)
        raise AuthenticationError("the other side has another key")
    connection.send_bytes(_WELCOME)


def _proof(key: bytes, role: bytes, challenge: bytes) -> bytes:
    return hmac.digest(key, role + challenge, "sha256")
