# SPDX-License-Identifier: Apache-2.0
"""Signatures of requests between workers (KIP-507). Java: ``InternalRequestSignature``.

Java signs the body alone, so a captured ``PUT …/fence`` could be sent again for ever, to any connector. Here the
signature also covers method, path, time and a nonce, and each request counts once.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import RetriableError
from headrace.config.mac_algorithms import MacAlgorithm, mac_algorithm
from headrace.herder.errors import BadRequestError, ForbiddenError
from headrace.model.cluster_config_state import SessionKey

SIGNATURE_HEADER: Final = "X-Connect-Authorization"
ALGORITHM_HEADER: Final = "X-Connect-Request-Signature-Algorithm"
TIMESTAMP_HEADER: Final = "X-Connect-Request-Timestamp"
NONCE_HEADER: Final = "X-Connect-Request-Nonce"
HEADERS: Final = (SIGNATURE_HEADER, ALGORITHM_HEADER, TIMESTAMP_HEADER, NONCE_HEADER)

WINDOW_SECONDS: Final = 300.0
"""How far the clocks of two workers may be apart, and how long a nonce is remembered; as in Kerberos."""
_NONCE_BYTES: Final = 16
_MILLISECONDS: Final = re.compile("[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class SignedParts:
    """What a signature covers beside time and nonce: ``path`` percent-encoded as it is sent, without the query."""

    method: str
    path: str
    body: bytes


def sign(
    parts: SignedParts, key: SessionKey, algorithm: MacAlgorithm, *, now: float | None = None, nonce: str | None = None
) -> dict[str, str]:
    """The headers of a signed request; ``now`` in seconds since the epoch. A request is signed for one sending."""
    timestamp = str(int((time.time() if now is None else now) * 1000))
    nonce = secrets.token_urlsafe(_NONCE_BYTES) if nonce is None else nonce
    signature = _signature(parts, timestamp, nonce, base64.b64decode(key.key), algorithm)
    return {
        SIGNATURE_HEADER: base64.b64encode(signature).decode(),
        ALGORITHM_HEADER: algorithm.name,
        TIMESTAMP_HEADER: timestamp,
        NONCE_HEADER: nonce,
    }


class SignatureVerifier:
    """Tells good requests from bad ones, and remembers the good ones for as long as they could come again.

    Only what is signed rightly is remembered, so strangers cannot fill the memory. Thread-safe.
    """

    def __init__(self, algorithms: Collection[MacAlgorithm], clock: Callable[[], float] = time.time) -> None:
        """``algorithms`` are those that other workers may use; ``clock`` gives seconds since the epoch."""
        self._algorithms = tuple(algorithms)
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}

    def verify(self, parts: SignedParts, headers: Mapping[str, str], key: SessionKey | None) -> None:
        """``headers`` finds names in any case.

        BadRequestError without a signature that could be checked, RetriableError while this worker has no ``key``,
        ForbiddenError for a signature that is wrong, too old or was here before.
        """
        signature, name, timestamp, nonce = (headers.get(header, "") for header in HEADERS)
        if not signature or not name or not nonce or not _MILLISECONDS.fullmatch(timestamp):
            raise BadRequestError("The request is one between workers and so has to be signed")
        algorithm = self._permitted(name)
        if key is None:
            raise RetriableError("This worker has not read a session key from the config topic yet")
        expected = _signature(parts, timestamp, nonce, base64.b64decode(key.key), algorithm)
        if not hmac.compare_digest(expected, _decoded(signature)):
            raise ForbiddenError("The request's signature is wrong")
        self._check_fresh(timestamp, nonce)

    def _permitted(self, name: str) -> MacAlgorithm:
        algorithm = mac_algorithm(name)
        if algorithm is None or algorithm not in self._algorithms:
            permitted = ", ".join(each.name for each in self._algorithms)
            raise BadRequestError(
                f"This worker does not accept signatures by {name}: its inter.worker.verification.algorithms are "
                f"{permitted}; they have to include the inter.worker.signature.algorithm of every worker"
            )
        return algorithm

    def _check_fresh(self, timestamp: str, nonce: str) -> None:
        now = self._clock()
        age = now - int(timestamp) / 1000
        if abs(age) > WINDOW_SECONDS:
            raise ForbiddenError(
                f"The request was signed {abs(age):.0f} s {'ago' if age > 0 else 'in the future'}: the workers' clocks "
                f"may differ by {WINDOW_SECONDS:.0f} s at most"
            )
        with self._lock:
            self._forget(now)
            if nonce in self._seen:
                raise ForbiddenError("The request's signature was used before")
            # Until nobody could send it again: one from the future could for longer.
            self._seen[nonce] = now - age + WINDOW_SECONDS

    def _forget(self, now: float) -> None:
        """The eldest are at the front, nearly in the order in which they end; a straggler is forgotten later."""
        while self._seen and self._seen[eldest := next(iter(self._seen))] < now:
            del self._seen[eldest]


def _signature(parts: SignedParts, timestamp: str, nonce: str, key: bytes, algorithm: MacAlgorithm) -> bytes:
    """No part but the body, which comes last, can hold a line break: so no two requests have the same text."""
    head = "\n".join((parts.method, parts.path, timestamp, nonce, ""))
    return hmac.new(key, head.encode() + parts.body, getattr(hashlib, algorithm.hash_name)).digest()


def _decoded(signature: str) -> bytes:
    try:
        return base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return b""
