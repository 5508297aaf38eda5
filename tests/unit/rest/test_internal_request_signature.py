# SPDX-License-Identifier: Apache-2.0
"""Which requests between workers are let in, and which are not."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import RetriableError
from headrace.config.session_key_config import NAMES, MacAlgorithm, mac_algorithm
from headrace.herder.errors import BadRequestError, ForbiddenError
from headrace.model.cluster_config_state import SessionKey
from headrace.rest.internal_request_signature import (
    ALGORITHM_HEADER,
    DIGEST_HEADER,
    HEADERS,
    NONCE_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    WINDOW_SECONDS,
    SignatureVerifier,
    SignedParts,
    sign,
)

NOW = 1_795_229_818.5
KEY = SessionKey(base64.b64encode(b"k" * 32).decode(), "HmacSHA256", 0)
PARTS = SignedParts("POST", "/connectors/a%2Fb/tasks", b'[{"x":"1"}]')


def algorithm(name: str) -> MacAlgorithm:
    found = mac_algorithm(name)
    assert found is not None
    return found


SHA256 = algorithm("HmacSHA256")


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def verifier(clock: Clock) -> SignatureVerifier:
    return SignatureVerifier([SHA256], clock)


def signed(parts: SignedParts = PARTS, now: float = NOW, nonce: str = "n1") -> dict[str, str]:
    return sign(parts, KEY, SHA256, now=now, nonce=nonce)


def test_the_signature_is_an_hmac_of_all_parts() -> None:
    digest = base64.b64encode(hashlib.sha256(b'[{"x":"1"}]').digest()).decode()
    text = f"POST\n/connectors/a%2Fb/tasks\n1795229818500\nn1\n{digest}"
    mac = hmac.new(b"k" * 32, text.encode(), hashlib.sha256).digest()
    assert signed() == {
        SIGNATURE_HEADER: base64.b64encode(mac).decode(),
        ALGORITHM_HEADER: "HmacSHA256",
        TIMESTAMP_HEADER: "1795229818500",
        NONCE_HEADER: "n1",
        DIGEST_HEADER: digest,
    }


def test_what_is_signed_rightly_is_let_in(verifier: SignatureVerifier) -> None:
    verifier.verify(PARTS, signed(), KEY)
    verifier.verify(PARTS, signed(nonce="n2"), KEY)


def test_each_signing_has_a_nonce_of_its_own() -> None:
    assert len({sign(PARTS, KEY, SHA256)[NONCE_HEADER] for _ in range(20)}) == 20


@pytest.mark.parametrize(
    "other",
    [
        replace(PARTS, method="PUT"),
        replace(PARTS, path="/connectors/a/b/tasks"),
        replace(PARTS, body=b'[{"x":"2"}]'),
        replace(PARTS, body=b""),
    ],
)
def test_a_signature_of_another_request(other: SignedParts, verifier: SignatureVerifier) -> None:
    with pytest.raises(ForbiddenError, match="wrong"):
        verifier.verify(other, signed(), KEY)


@pytest.mark.parametrize("header", [TIMESTAMP_HEADER, NONCE_HEADER, DIGEST_HEADER])
def test_time_nonce_and_digest_cannot_be_changed(header: str, verifier: SignatureVerifier) -> None:
    other = signed(replace(PARTS, body=b"x"), now=NOW + 1, nonce="n2")
    headers = signed() | {header: other[header]}
    with pytest.raises(ForbiddenError, match="wrong"):
        verifier.verify_head(PARTS.method, PARTS.path, headers, KEY)


def test_the_head_alone_shows_who_signed_and_uses_nothing_up(verifier: SignatureVerifier) -> None:
    for _ in range(2):
        verifier.verify_head(PARTS.method, PARTS.path, signed(), KEY)
    verifier.verify(PARTS, signed(), KEY)
    with pytest.raises(ForbiddenError, match="used before"):
        verifier.verify_head(PARTS.method, PARTS.path, signed(), KEY)


@pytest.mark.parametrize("signature", ["AAAA", "not base64!", "é", signed()[SIGNATURE_HEADER][:-4]])
def test_a_signature_that_is_none(signature: str, verifier: SignatureVerifier) -> None:
    with pytest.raises(ForbiddenError, match="wrong"):
        verifier.verify(PARTS, signed() | {SIGNATURE_HEADER: signature}, KEY)


def test_another_key(verifier: SignatureVerifier) -> None:
    rotated = replace(KEY, key=base64.b64encode(b"r" * 32).decode())
    with pytest.raises(ForbiddenError, match="wrong"):
        verifier.verify(PARTS, signed(), rotated)


@pytest.mark.parametrize("missing", HEADERS)
def test_an_unsigned_request(missing: str, verifier: SignatureVerifier) -> None:
    headers = {name: value for name, value in signed().items() if name != missing}
    with pytest.raises(BadRequestError, match="has to be signed"):
        verifier.verify(PARTS, headers, KEY)
    with pytest.raises(BadRequestError, match="has to be signed"):
        verifier.verify(PARTS, {**signed(), missing: ""}, KEY)


def test_a_time_that_is_none(verifier: SignatureVerifier) -> None:
    with pytest.raises(BadRequestError, match="has to be signed"):
        verifier.verify(PARTS, signed() | {TIMESTAMP_HEADER: "yesterday"}, KEY)


@pytest.mark.parametrize("name", ["HmacSHA1", "HmacNothing"])
def test_an_algorithm_that_is_not_permitted(name: str, verifier: SignatureVerifier) -> None:
    with pytest.raises(BadRequestError, match=rf"by {name}.*inter.worker.verification.algorithms are HmacSHA256"):
        verifier.verify(PARTS, signed() | {ALGORITHM_HEADER: name}, KEY)


@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm(name: str, clock: Clock) -> None:
    verifier = SignatureVerifier([SHA256, algorithm(name)], clock)
    verifier.verify(PARTS, sign(PARTS, KEY, algorithm(name.lower()), now=NOW), KEY)


def test_a_worker_that_has_no_key_yet(verifier: SignatureVerifier) -> None:
    with pytest.raises(RetriableError, match="has not read a session key"):
        verifier.verify(PARTS, signed(), None)
    with pytest.raises(BadRequestError):
        verifier.verify(PARTS, {}, None)


def test_a_request_counts_once(verifier: SignatureVerifier, clock: Clock) -> None:
    verifier.verify(PARTS, signed(), KEY)
    for later in (0, WINDOW_SECONDS - 1, WINDOW_SECONDS):
        clock.now = NOW + later
        with pytest.raises(ForbiddenError, match="used before"):
            verifier.verify(PARTS, signed(), KEY)


@pytest.mark.parametrize("apart", [-WINDOW_SECONDS - 1, WINDOW_SECONDS + 1])
def test_too_old_or_too_early(apart: float, verifier: SignatureVerifier, clock: Clock) -> None:
    clock.now = NOW + apart
    with pytest.raises(ForbiddenError, match=r"301 s.*clocks may differ by 300 s"):
        verifier.verify(PARTS, signed(), KEY)


def test_a_wrong_signature_uses_up_no_nonce(verifier: SignatureVerifier) -> None:
    with pytest.raises(ForbiddenError):
        verifier.verify(replace(PARTS, body=b"x"), signed(), KEY)
    verifier.verify(PARTS, signed(), KEY)


@given(st.lists(st.tuples(st.integers(-400, 400), st.integers(0, 400), st.integers(0, 5)), max_size=30))
def test_no_request_counts_twice_and_all_are_forgotten(calls: list[tuple[int, int, int]]) -> None:
    """Each call is signed so many seconds off, comes so many after the one before, and has one of 6 nonces."""
    clock = Clock()
    verifier = SignatureVerifier([SHA256], clock)
    accepted: set[tuple[str, ...]] = set()
    for apart, pause, nonce in calls:
        clock.now += pause
        headers = signed(now=clock.now + apart, nonce=str(nonce))
        try:
            verifier.verify(PARTS, headers, KEY)
        except ForbiddenError:
            continue
        assert abs(apart) <= WINDOW_SECONDS and tuple(headers.values()) not in accepted
        accepted.add(tuple(headers.values()))
    clock.now += 3 * WINDOW_SECONDS
    verifier.verify(PARTS, signed(now=clock.now, nonce="last"), KEY)
    assert list(verifier._seen) == ["last"]
