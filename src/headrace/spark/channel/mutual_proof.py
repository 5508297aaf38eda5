# SPDX-License-Identifier: Apache-2.0
"""Two sides of a connection prove to each other that they know a key, by HMAC-SHA256, without sending it.

The standard library's own way hashes with MD5 up to Python 3.11, which machines in FIPS mode do not have, and settles
the hash with the other side from 3.12 on, which may be another version here. One side's proof is none of the other's.
"""

from __future__ import annotations

import hmac
import os
from multiprocessing import AuthenticationError
from typing import Final, Protocol

_CHALLENGE_BYTES: Final = 32
_LONGEST: Final = 64
"""Bytes of a message that are taken of somebody who has proved nothing yet."""
_CALLER, _LISTENER = b"headrace caller", b"headrace listener"
_WELCOME, _REFUSED = b"welcome", b"refused"


class Messages(Protocol):
    """A connection of ``multiprocessing``'s kind."""

    def send_bytes(self, buf: bytes) -> None: ...

    def recv_bytes(self, maxlength: int | None = None) -> bytes: ...


def prove_as_caller(connection: Messages, key: bytes) -> None:
    """OSError, EOFError, or AuthenticationError if one of the two does not know the key."""
    _prove(connection, key, _CALLER)
    _verify(connection, key, _LISTENER)


def prove_as_listener(connection: Messages, key: bytes) -> None:
    """The other side of ``prove_as_caller``; the caller has to prove itself first."""
    _verify(connection, key, _CALLER)
    _prove(connection, key, _LISTENER)


def _prove(connection: Messages, key: bytes, role: bytes) -> None:
    challenge = connection.recv_bytes(_LONGEST)
    if len(challenge) != _CHALLENGE_BYTES:
        raise AuthenticationError("what came is no challenge")
    connection.send_bytes(_proof(key, role, challenge))
    if connection.recv_bytes(_LONGEST) != _WELCOME:
        raise AuthenticationError("the other side has another key")


def _verify(connection: Messages, key: bytes, role: bytes) -> None:
    challenge = os.urandom(_CHALLENGE_BYTES)
    connection.send_bytes(challenge)
    if not hmac.compare_digest(connection.recv_bytes(_LONGEST), _proof(key, role, challenge)):
        connection.send_bytes(_REFUSED)
        raise AuthenticationError("the other side has another key")
    connection.send_bytes(_WELCOME)


def _proof(key: bytes, role: bytes, challenge: bytes) -> bytes:
    return hmac.digest(key, role + challenge, "sha256")
