# SPDX-License-Identifier: Apache-2.0
"""Half-open connections, slow requests, and requests that two parties on the way could read differently."""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.support.polling import wait_for, within
from tests.support.raw_http import connected, everything_from, is_closed, statuses
from tests.support.worker_process import WorkerProcess

HALF_OPEN = 1100
AUTHORIZATION = b"Authorization: Basic YW5uYTpzZWNyZXQ=\r\n"
ATTACKER, ANOTHER = "127.0.0.2", "127.0.0.3"


def answer_to(port: int, sent: bytes, source: str = "127.0.0.1") -> bytes:
    """All that comes back until the worker closes the connection, or says nothing for two seconds."""
    with connected(port, source) as connection:
        connection.sendall(sent)
        return everything_from(connection, 2)


@pytest.fixture
def few_files(locked_worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """The worker with as few file descriptors as a process has by default."""
    # Health is good while Spark starts, which needs files of its own: that is not what is attacked.
    wait_for(lambda: " is up, UI at " in locked_worker.log, 60, lambda: locked_worker.log[-3000:])
    before = resource.prlimit(locked_worker.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(locked_worker.pid, resource.RLIMIT_NOFILE, (1024, before[1]))
    yield locked_worker
    resource.prlimit(locked_worker.pid, resource.RLIMIT_NOFILE, before)


def health_seconds(worker: WorkerProcess, source: str = "127.0.0.1") -> float:
    """How long ``/health`` takes on a new connection: the best of three, as others use this machine too."""
    return min(_health_seconds(worker.port, source) for _ in range(3))


def _health_seconds(port: int, source: str) -> float:
    began = time.monotonic()
    with connected(port, source) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + AUTHORIZATION + b"\r\n")
        answer = connection.recv(65536)
    assert statuses(answer) == [200], answer
    return time.monotonic() - began


def opened(stack: ExitStack, port: int, source: str, sent: bytes, count: int = HALF_OPEN) -> list[socket.socket]:
    connections = []
    for _ in range(count):
        connection = stack.enter_context(connected(port, source))
        try:
            connection.sendall(sent)
        except ConnectionError:  # closed already
            continue
        connections.append(connection)
    return connections


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"POST /connectors HTTP/1.1\r\nHost: localhost\r\n"
        + AUTHORIZATION
        + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_health_answers_while_one_address_holds_half_open_connections(few_files: WorkerProcess, sent: bytes) -> None:
    with ExitStack() as stack:
        opened(stack, few_files.port, ATTACKER, sent)
        for source in ("127.0.0.1", ANOTHER, ATTACKER):
            assert health_seconds(few_files, source) < 1, source


def test_connections_that_send_no_whole_head_are_closed(locked_worker: WorkerProcess) -> None:
    with ExitStack() as stack:
        silent = stack.enter_context(connected(locked_worker.port))
        trickling = stack.enter_context(connected(locked_worker.port))
        trickling.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")

        def both_closed() -> bool:
            with suppress(ConnectionError):
                trickling.sendall(b"X")
            return is_closed(silent) and is_closed(trickling)

        within(15, both_closed, "the end of two connections whose heads are not there after 10 s")


def test_log_reports_it_once_and_with_counts(few_files: WorkerProcess) -> None:
    with ExitStack() as stack:
        opened(stack, few_files.port, ATTACKER, b"G")
        wait_for(lambda: any(ATTACKER in line for line in limit_lines(few_files)), 70)
    assert len(limit_lines(few_files)) <= 3, "one line a minute"


def limit_lines(worker: WorkerProcess) -> list[str]:
    """Lines of this attack, and of those before it on the same worker."""
    return [line for line in worker.log.splitlines() if "rest.max.connections.per.address" in line]


def test_health_answers_while_request_threads_are_all_busy(locked_worker: WorkerProcess) -> None:
    """The threads are those of answers that are made outside the event loop."""
    end = threading.Event()

    def ask() -> None:
        while not end.is_set():
            locked_worker.rest.get("/metrics")

    threads = [threading.Thread(target=ask) for _ in range(50)]
    for thread in threads:
        thread.start()
    try:
        assert health_seconds(locked_worker, ANOTHER) < 1
    finally:
        end.set()
        for thread in threads:
            thread.join()


# ---- what two parties could read differently (RFC 9112)

HOST = b"Host: localhost\r\n"
NEXT = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"POST /connectors HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"

AMBIGUOUS = {
    "length and chunks": CHUNKED + b"Content-Length: 4\r\n\r\n0\r\n\r\n" + NEXT,
    "two equal lengths": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n" + NEXT,
    "two lengths": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n" + NEXT,
    "list of lengths": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0, 0\r\n\r\n" + NEXT,
    "length with a sign": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +0\r\n\r\n" + NEXT,
    "chunks of HTTP/1.0": CHUNKED.replace(b"1.1", b"1.0") + b"\r\n0\r\n\r\n" + NEXT,
    "other encoding": CHUNKED.replace(b"chunked", b"chunked, identity") + b"\r\n0\r\n\r\n" + NEXT,
    "space before colon": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length : 0\r\n\r\n" + NEXT,
    "folded line": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n" + NEXT,
    "bare LF in head": b"GET / HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n" + NEXT,
    "bare LF at the end of a head": b"GET / HTTP/1.1\r\nHost: localhost\n\n" + NEXT,
    "bare CR in head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rContent-Length: 9\r\n\r\n" + NEXT,
    "NUL in head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n" + NEXT,
    "bare LF after chunks": CHUNKED + b"\r\n0\r\n\n" + NEXT,
    "bare LF after the size of a chunk": CHUNKED + b"\r\n2\n{}\r\n0\r\n\r\n" + NEXT,
    "bare LF in a chunk's extension": CHUNKED + b"\r\n2;a\nb\r\n{}\r\n0\r\n\r\n" + NEXT,
    "trailer": CHUNKED + b"\r\n0\r\nContent-Length: 9\r\n\r\n" + NEXT,
    "chunk longer than it says": CHUNKED + b"\r\n1\r\n{}\r\n0\r\n\r\n" + NEXT,
    "size of a chunk in hex with 0x": CHUNKED + b"\r\n0x2\r\n{}\r\n0\r\n\r\n" + NEXT,
    "no host": b"GET / HTTP/1.1\r\n\r\n" + NEXT,
    "two hosts": b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n\r\n" + NEXT,
    "blanks at the start of a line": b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n" + NEXT,
}


@pytest.mark.parametrize("sent", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_ambiguous_requests_are_answered_400_and_end_the_connection(locked_worker: WorkerProcess, sent: bytes) -> None:
    with connected(locked_worker.port) as connection:
        connection.sendall(sent)
        connection.settimeout(5)
        answer = b""
        while data := connection.recv(65536):  # a timeout fails the test: the connection has to end
            answer += data
    assert statuses(answer)[-1:] == [400] or (statuses(answer) == [401] and b"chunked" in sent), answer
    assert b"connection: close" in answer.lower()
    assert len(statuses(answer)) == 1, answer


def test_pipelined_valid_requests_are_all_answered(locked_worker: WorkerProcess) -> None:
    sent = b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n" + CHUNKED + b"\r\n2;a=b\r\n{}\r\n0\r\n\r\n" + NEXT
    assert statuses(answer_to(locked_worker.port, sent)) == [401, 401, 401]
