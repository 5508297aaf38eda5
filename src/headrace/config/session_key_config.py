# SPDX-License-Identifier: Apache-2.0
"""Session keys of requests between workers (KIP-507): properties, algorithms by Java's names, and the keys."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.validators import LambdaValidator, Range
from headrace.model.cluster_config_state import SessionKey

KEY_ALGORITHM: Final = "inter.worker.key.generation.algorithm"
KEY_SIZE: Final = "inter.worker.key.size"
KEY_TTL: Final = "inter.worker.key.ttl.ms"
SIGNATURE_ALGORITHM: Final = "inter.worker.signature.algorithm"
VERIFICATION_ALGORITHMS: Final = "inter.worker.verification.algorithms"
_MINIMUM_KEY_BITS: Final = 40


@dataclass(frozen=True, slots=True)
class MacAlgorithm:
    """A keyed hash. ``hash_name`` is hashlib's; ``key_bits`` is Java's default length of a key for it."""

    name: str
    hash_name: str
    key_bits: int


_ALGORITHMS: Final = {
    algorithm.name.upper(): algorithm
    for algorithm in (
        MacAlgorithm("HmacMD5", "md5", 512),
        MacAlgorithm("HmacSHA1", "sha1", 512),
        MacAlgorithm("HmacSHA224", "sha224", 224),
        MacAlgorithm("HmacSHA256", "sha256", 256),
        MacAlgorithm("HmacSHA384", "sha384", 384),
        MacAlgorithm("HmacSHA512", "sha512", 512),
        MacAlgorithm("HmacSHA3-224", "sha3_224", 224),
        MacAlgorithm("HmacSHA3-256", "sha3_256", 256),
        MacAlgorithm("HmacSHA3-384", "sha3_384", 384),
        MacAlgorithm("HmacSHA3-512", "sha3_512", 512),
    )
}
NAMES: Final = tuple(algorithm.name for algorithm in _ALGORITHMS.values())


def mac_algorithm(name: str) -> MacAlgorithm | None:
    """Return the algorithm of that name, in any case as in Java; None if there is none."""
    return _ALGORITHMS.get(name.upper())


def _check_algorithm(name: str, value: str) -> None:
    if mac_algorithm(value) is None:
        raise ConfigError.invalid(name, value, f"Algorithm must be one of {', '.join(NAMES)}")


def _check_algorithms(name: str, value: list[str]) -> None:
    if not value:
        raise ConfigError.invalid(name, value, "At least one algorithm must be given")
    for each in value:
        _check_algorithm(name, each)


def _check_key_size(name: str, value: int | None) -> None:
    if value is not None and value < _MINIMUM_KEY_BITS:
        raise ConfigError.invalid(name, value, f"Value must be at least {_MINIMUM_KEY_BITS} bits")


_ALGORITHM: Final = LambdaValidator(_check_algorithm, lambda: f"one of {', '.join(NAMES)}")


def define_session_keys(definition: ConfigDef) -> None:
    """Add these properties to a distributed worker's definition."""
    low, sha256 = Importance.LOW, "HmacSHA256"
    # fmt: off
    definition.define(KEY_ALGORITHM, Type.STRING, sha256, importance=low, validator=_ALGORITHM,
                      doc="Algorithm of the session keys that the leader generates for requests between workers "
                          "(KIP-507).")
    definition.define(KEY_SIZE, Type.INT, None, importance=low,
                      validator=LambdaValidator(_check_key_size, lambda: f"null or [{_MINIMUM_KEY_BITS},...]"),
                      doc="Size of session keys in bits; by default that of the algorithm.")
    definition.define(KEY_TTL, Type.INT, 3600000, importance=low, validator=Range.between(0, 2**31 - 1),
                      doc="Age in ms at which the leader replaces a session key; 0 keeps it as long as the leader "
                          "runs.")
    definition.define(SIGNATURE_ALGORITHM, Type.STRING, sha256, importance=low, validator=_ALGORITHM,
                      doc="Algorithm with which this worker signs its requests to other workers.")
    definition.define(VERIFICATION_ALGORITHMS, Type.LIST, sha256, importance=low,
                      validator=LambdaValidator(_check_algorithms, lambda: f"one or more of {', '.join(NAMES)}"),
                      doc=f"Algorithms that other workers may sign with; {SIGNATURE_ALGORITHM} has to be one of them.")
    # fmt: on


@dataclass(frozen=True, slots=True)
class SessionKeyRules:
    """The kind of keys that this worker makes as the leader: ``size`` in bytes, ``ttl_ms`` of 0 for no expiry.

    All workers sign their requests to each other with the leader's key.
    """

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
