# SPDX-License-Identifier: Apache-2.0
"""Bodies are read for those alone who sign, and of all others only so much at once."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Message, Scope

from headrace.config.session_key_config import mac_algorithm
from headrace.model.cluster_config_state import SessionKey
from headrace.rest.internal_request_signature import SignatureVerifier, SignedParts, sign
from headrace.rest.middleware.body_limit import BodyBudget, BodyLimit
from headrace.rest.middleware.filters import InternalRequestCheck, is_internal
from tests.support.polling import wait_for
from tests.support.raw_http import everything_from, statuses
from tests.unit.rest.conftest import echo

Serve = Callable[..., Any]
KEY = SessionKey("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=", "HmacSHA256", 0)
SHA256 = mac_algorithm("HmacSHA256")
assert SHA256 is not None
BODY = b"[]"


class Cluster:
    def __init__(self, *, signed: bool = True, key: SessionKey | None = KEY) -> None:
        self._signed, self._key = signed, key

    def signed(self) -> bool:
        return self._signed

    def session_key(self) -> SessionKey | None:
        return self._key


def scope_of(method: str = "POST", path: str = "/connectors/c/tasks", **headers: str) -> Scope:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": raw}


def asked(scope: Scope, cluster: Cluster | None = None) -> tuple[int, bool]:
    """The answer's status, and whether the body was read before it."""
    read, answers = [], []

    async def receive() -> Message:
        read.append(bool(answers))
        return {"type": "http.request", "body": BODY, "more_body": False}

    async def send(message: Message) -> None:
        answers.append(message)

    assert SHA256 is not None
    verifier = SignatureVerifier([SHA256])
    gate = InternalRequestCheck(echo, cluster or Cluster(), verifier)  # type: ignore[arg-type]
    asyncio.run(gate(scope, receive, send))
    return answers[0]["status"], False in read


def signed(method: str = "POST", path: str = "/connectors/c/tasks") -> dict[str, str]:
    assert SHA256 is not None
    return sign(SignedParts(method, path, BODY), KEY, SHA256)


def test_unsigned_requests_are_refused_before_their_bodies_are_read() -> None:
    assert asked(scope_of()) == (400, False)
    assert asked(scope_of(**{name: "x" for name in signed()})) == (400, False)


def test_so_are_those_that_are_signed_wrongly_or_before_there_is_a_key() -> None:
    assert asked(scope_of(path="/connectors/d/tasks", **signed())) == (403, False)
    assert asked(scope_of(**signed()), Cluster(key=None)) == (503, False)


def test_signed_ones_pass_and_all_others_that_need_no_signature() -> None:
    assert asked(scope_of(**signed())) == (200, True)
    assert asked(scope_of("GET")) == (200, True)
    assert asked(scope_of(path="/connectors")) == (200, True)
    assert asked(scope_of(), Cluster(signed=False)) == (200, True)


@pytest.mark.parametrize(
    ("method", "path", "internal"),
    [
        ("POST", "/connectors/a%2Fb/tasks", True),
        ("POST", "/connectors/c/tasks/", True),
        ("PUT", "/connectors/c/fence", True),
        ("PUT", "/internal/loggers/root", True),
        ("GET", "/internal/health", True),
        ("GET", "/internal/health/a%2Fb", True),
        ("POST", "/internal/logs/a%2Fb", True),
        ("GET", "/connectors/c/health", False),
        ("GET", "/connectors/c/tasks", False),
        ("POST", "/connectors/c/tasks/0/restart", False),
        ("POST", "/connectors//tasks", False),
    ],
)
def test_what_is_between_workers(method: str, path: str, internal: bool) -> None:
    assert is_internal(scope_of(method, path)) is internal


# ---- the memory that bodies take together


def test_a_budget_counts_what_is_above_the_free_part() -> None:
    budget, free = BodyBudget(100), 64 * 1024
    assert budget.reserve(0, free) and budget.reserve(0, free + 60) and budget.reserve(free, free + 40)
    assert not budget.reserve(0, free + 1) and budget.reserve(0, free)
    budget.release(free + 60)
    assert budget.reserve(0, free + 60) and not budget.reserve(free + 60, free + 61)


def test_a_client_that_goes_away_gives_its_part_back(serve_api: Serve) -> None:
    limits = {"rest.request.max.bytes": "300000", "rest.requests.max.bytes": "1"}
    served = serve_api(limits)
    port = served.endpoints.listeners.bound[0].listener.port
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 300000\r\nConnection: close\r\n\r\n"

    def answer(body: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port)) as other:
            other.sendall(head + body)
            return everything_from(other, 20)

    small = head.replace(b"300000", b"5") + b"small"
    with socket.create_connection(("127.0.0.1", port)) as first:
        first.sendall(head + b"x" * 299_999)
        wait_for(lambda: statuses(answer(b"x" * 300_000)) == [503])
        refused = answer(b"x" * 300_000)
        assert b"Retry-After: 1" in refused or b"retry-after: 1" in refused
        assert "rest.requests.max.bytes" in json.loads(refused.partition(b"\r\n\r\n")[2])["message"]
        with socket.create_connection(("127.0.0.1", port)) as other:
            other.sendall(small)
            assert statuses(everything_from(other, 20)) == [200], "small ones have their own room"
    wait_for(lambda: statuses(answer(b"x" * 300_000)) == [200])


def test_the_part_is_given_back_however_a_request_ends() -> None:
    async def failing(scope: Scope, receive: Any, send: Any) -> None:
        raise ValueError

    async def receive() -> Message:
        return {"type": "http.request", "body": b"x" * 100_000, "more_body": False}

    async def send(message: Message) -> None: ...

    budget = BodyBudget(40_000)
    for _ in range(3):
        with pytest.raises(ValueError):
            asyncio.run(BodyLimit(failing, 100_000, 1, budget)(scope_of(), receive, send))
    assert budget.reserve(0, 100_000)
