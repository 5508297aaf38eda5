# SPDX-License-Identifier: Apache-2.0
"""The algorithms that can sign requests between workers, by Java's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MINIMUM_KEY_BITS: Final = 40


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
