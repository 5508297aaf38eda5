# SPDX-License-Identifier: Apache-2.0
"""The keyed hashes that requests between workers can be signed with, by the names that Java gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MINIMUM_KEY_BITS: Final = 40


@dataclass(frozen=True, slots=True)
class MacAlgorithm:
    """``hash_name`` is hashlib's, ``key_bits`` how long Java makes a key for it when nobody says."""

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
    """As in Java upper and lower case are the same. None for one that there is not."""
    return _ALGORITHMS.get(name.upper())
