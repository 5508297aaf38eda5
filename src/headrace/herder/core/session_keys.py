# SPDX-License-Identifier: Apache-2.0
"""Session keys (KIP-507): the leader makes them, and all workers sign their requests to each other with them."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from headrace.model.cluster_config_state import SessionKey


@dataclass(frozen=True, slots=True)
class SessionKeyRules:
    """The kind of keys that this worker makes as the leader: ``size`` in bytes, ``ttl_ms`` of 0 for no expiry."""

    algorithm: str = "HmacSHA256"
    size: int = 32
    ttl_ms: int = 3_600_000

    def new_key(self, now_ms: int, random: Callable[[int], bytes] = secrets.token_bytes) -> SessionKey:
        """Return a new key. ``now_ms`` is since the epoch; ``random`` makes so many unguessable bytes."""
        return SessionKey(base64.b64encode(random(self.size)).decode(), self.algorithm, now_ms)

    def fits(self, key: SessionKey | None) -> bool:
        """Return True if a key in the config topic is of the kind that this worker makes."""
        if key is None or key.algorithm.upper() != self.algorithm.upper():
            return False
        try:
            return len(key_bytes(key)) == self.size
        except binascii.Error:
            return False

    def time_left(self, key: SessionKey, now_ms: int) -> float | None:
        """Return the seconds until the key has to be replaced, 0 if that is overdue, None for never.

        A key from the future, by a former leader's clock, lasts no longer than one of now.
        """
        if self.ttl_ms == 0:
            return None
        return max(0.0, (min(key.created_ms, now_ms) + self.ttl_ms - now_ms) / 1000)


def key_bytes(key: SessionKey) -> bytes:
    """Return the key's bytes. Raise binascii.Error if it is not base64."""
    return base64.b64decode(key.key, validate=True)
