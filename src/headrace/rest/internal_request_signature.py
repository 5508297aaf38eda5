# SPDX-License-Identifier: Apache-2.0
"""Signatures of requests between workers (KIP-507). Java: ``InternalRequestSignature``.

Java signs only the body, so a captured ``PUT …/fence`` could be replayed at any time, to any connector. Here the
signature also covers method, path, time and a nonce, and each request is accepted once. Of the body it covers the
digest, which is a header too: a worker decides by the headers alone if it reads the body at all.
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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import RetriableError
from headrace.config.session_key_config import MacAlgorithm, mac_algorithm
from headrace.herder.errors import BadRequestError, ForbiddenError
from headrace.model.cluster_config_state import SessionKey

SIGNATURE_HEADER: Final = "X-Connect-Authorization"
ALGORITHM_HEADER: Final = "X-Connect-Request-Signature-Algorithm"
TIMESTAMP_HEADER: Final = "X-Connect-Request-Timestamp"
NONCE_HEADER: Final = "X-Connect-Request-Nonce"
DIGEST_HEADER: Final = "X-Connect-Request-Body-Digest"
HEADERS: Final = (SIGNATURE_HEADER, ALGORITHM_HEADER, TIMESTAMP_HEADER, NONCE_HEADER, DIGEST_HEADER)

WINDOW_SECONDS: Final = 300.0
"""The allowed difference between two workers' clocks, and the lifetime of a remembered nonce; as in Kerberos."""
_NONCE_BYTES: Final = 16
_USED: Final = "The request's signature was used before"
_MILLISECONDS: Final = re.compile("[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class SignedParts:
    """The signed parts beside time and nonce; ``path`` percent-encoded as it is sent, without the query."""

    method: str
    path: str
    body: bytes


def sign(
    parts: SignedParts, key: SessionKey, algorithm: MacAlgorithm, *, now: float | None = None, nonce: str | None = None
) -> dict[str, str]:
    """Return the headers of a signed request, good for sending once; ``now`` in seconds since the epoch."""
    timestamp = str(int((time.time() if now is None else now) * 1000))
    nonce = secrets.token_urlsafe(_NONCE_BYTES) if nonce is None else nonce
    digest = _digest(parts.body)
    signature = _signature((parts.method, parts.path, timestamp, nonce, digest), key, algorithm)
    return {
        SIGNATURE_HEADER: base64.b64encode(signature).decode(),
        ALGORITHM_HEADER: algorithm.name,
        TIMESTAMP_HEADER: timestamp,
        NONCE_HEADER: nonce,
        DIGEST_HEADER: digest,
    }


class SignatureVerifier:
    """A verifier of signatures that refuses replays: it remembers accepted nonces for as long as they are fresh.

    Only nonces with a valid signature are remembered, so strangers cannot fill the memory. Thread-safe.
    """

    def __init__(self, algorithms: Collection[MacAlgorithm], clock: Callable[[], float] = time.time) -> None:
        """Accept signatures by ``algorithms``; ``clock`` returns seconds since the epoch."""
        self._algorithms = tuple(algorithms)
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}

    def verify_head(self, method: str, path: str, headers: Mapping[str, str], key: SessionKey | None) -> None:
        """Check all but the body, whose digest is in ``headers``; these find names in any case.

        Raise BadRequestError without a signature that could be checked, RetriableError while this worker has no
        ``key``, ForbiddenError for a signature that is wrong, too old or was used before.
        """
        signature, name, timestamp, nonce, digest = (headers.get(header, "") for header in HEADERS)
        if not (signature and name and nonce and digest) or not _MILLISECONDS.fullmatch(timestamp):
            raise BadRequestError("The request is one between workers and so has to be signed")
        algorithm = self._permitted(name)
        if key is None:
            raise RetriableError("This worker has not read a session key from the config topic yet")
        expected = _signature((method, path, timestamp, nonce, digest), key, algorithm)
        if not hmac.compare_digest(expected, _decoded(signature)):
            raise ForbiddenError("The request's signature is wrong")
        self._check_fresh(timestamp, nonce)

    def verify(self, parts: SignedParts, headers: Mapping[str, str], key: SessionKey | None) -> None:
        """Check the whole request and use up its nonce. Raise the errors of ``verify_head``."""
        self.verify_head(parts.method, parts.path, headers, key)
        if not hmac.compare_digest(_digest(parts.body), headers[DIGEST_HEADER]):
            raise ForbiddenError("The request's signature is wrong: it is one of another body")
        self._use_up(headers[TIMESTAMP_HEADER], headers[NONCE_HEADER])

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
        age = self._clock() - int(timestamp) / 1000
        if abs(age) > WINDOW_SECONDS:
            raise ForbiddenError(
                f"The request was signed {abs(age):.0f} s {'ago' if age > 0 else 'in the future'}: the workers' clocks "
                f"may differ by {WINDOW_SECONDS:.0f} s at most"
            )
        if nonce in self._seen:
            raise ForbiddenError(_USED)

    def _use_up(self, timestamp: str, nonce: str) -> None:
        with self._lock:
            self._forget(self._clock())
            if nonce in self._seen:
                raise ForbiddenError(_USED)
            # Until it is too old to be sent again: later for a time stamp from the future.
            self._seen[nonce] = int(timestamp) / 1000 + WINDOW_SECONDS

    def _forget(self, now: float) -> None:
        """Drop expired nonces. They stand nearly in the order of their ends; one out of order is dropped later."""
        while self._seen and self._seen[eldest := next(iter(self._seen))] < now:
            del self._seen[eldest]


def _signature(parts: Sequence[str], key: SessionKey, algorithm: MacAlgorithm) -> bytes:
    """Sign the joined parts; none can hold a line break, so no two requests have the same text."""
    text = "\n".join(parts).encode()
    return hmac.new(base64.b64decode(key.key), text, getattr(hashlib, algorithm.hash_name)).digest()


def _digest(body: bytes) -> str:
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


def _decoded(signature: str) -> bytes:
    try:
        return base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return b""
