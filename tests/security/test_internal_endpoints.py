# SPDX-License-Identifier: Apache-2.0
"""Strangers at the endpoints that workers keep for each other, and bodies that fill a worker's memory."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx2
import psutil
import pytest

from tests.support.polling import wait_for, within
from tests.support.raw_http import connected, everything_from, statuses
from tests.support.worker_process import WorkerProcess

BODIES = 12
DECLARED = 16_000_000
SENT = DECLARED - 1
MEGABYTE = 1024 * 1024

INTERNAL = [
    *("POST /connectors/c/tasks", "PUT /connectors/c/fence", "PUT /internal/loggers/root"),
    *("GET /internal/health", "GET /internal/health/c", "GET /internal/worker", "POST /internal/logs/c"),
    "POST /internal/changes",
]
FORGED = (
    b"X-Connect-Authorization: QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=\r\n"
    b"X-Connect-Request-Signature-Algorithm: HmacSHA256\r\nX-Connect-Request-Timestamp: 1800000000000\r\n"
    b"X-Connect-Request-Nonce: n\r\nX-Connect-Request-Body-Digest: QUFB\r\n"
)


def head(line: str, extra: bytes = b"") -> bytes:
    common = f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {DECLARED}\r\n"
    return common.encode() + extra + b"\r\n"


def memory(worker: WorkerProcess) -> int:
    return int(psutil.Process(worker.pid).memory_info().rss)


def all_but_the_end(stack: ExitStack, port: int, start: bytes) -> Iterator[socket.socket]:
    """Requests whose last byte never comes."""
    for _ in range(BODIES):
        connection = stack.enter_context(connected(port))
        try:
            connection.sendall(start + b" " * SENT)
        except ConnectionError:  # refused and closed already
            continue
        yield connection


@pytest.mark.parametrize("line", INTERNAL)
@pytest.mark.parametrize("signature", [b"", FORGED], ids=["unsigned", "forged"])
def test_unsigned_requests_are_refused_before_their_body_arrives(
    locked_worker: WorkerProcess, line: str, signature: bytes
) -> None:
    def answer() -> bytes:
        with connected(locked_worker.port) as connection:
            connection.sendall(head(line, signature))  # of the body comes nothing
            return connection.recv(65536)

    expected = 403 if signature else 400
    wait_for(lambda: statuses(answer()) == [expected], 30, "the worker's session key")
    assert b"connection: close" in answer().lower()


def test_bodies_of_unauthenticated_requests_are_not_read_into_memory(locked_worker: WorkerProcess) -> None:
    before = memory(locked_worker)
    with ExitStack() as stack:
        for _ in all_but_the_end(stack, locked_worker.port, head(INTERNAL[0])):
            # Bodies are 480 MB; up to 60 MB is what a worker loads in its first minute.
            assert memory(locked_worker) - before < 120 * MEGABYTE
        assert locked_worker.rest.get("/health").status_code == 200


def test_bodies_of_users_take_so_much_memory_and_no_more(locked_worker: WorkerProcess) -> None:
    before = memory(locked_worker)
    authorization = b"Authorization: Basic YW5uYTpzZWNyZXQ=\r\n"
    with ExitStack() as stack:
        held = list(all_but_the_end(stack, locked_worker.port, head("POST /connectors", authorization)))
        assert memory(locked_worker) - before < 200 * MEGABYTE
        answers = [statuses(everything_from(connection, 0.2)) for connection in held]
        assert all(answer in ([], [503]) for answer in answers), answers
        assert 3 <= answers.count([]) <= 4, "four times 16 MB are 64 MB"
        refused = locked_worker.rest.post("/connectors", json={"name": "x", "config": {}})
        assert refused.status_code == 400, "small ones are read as ever"

    def fits_again() -> bool:
        answer = locked_worker.rest.post("/connectors", json={"name": "x" * 1_000_000, "config": {}})
        return answer.status_code == 400

    within(10, fits_again, "memory that was given back by clients that are gone")


def test_probes_get_the_status_alone(locked_worker: WorkerProcess) -> None:
    url = f"http://127.0.0.1:{locked_worker.port}"
    answer = httpx2.get(f"{url}/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "healthy"})
    assert httpx2.get(f"{url}/connectors").status_code == 401
