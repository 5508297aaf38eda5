# SPDX-License-Identifier: Apache-2.0
"""Who is let in, who makes room, and whose time is over."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from headrace.api.config_def import ConfigDef
from headrace.config.rest_config import KEEP_ALIVE, define_rest_limits
from headrace.rest.server.connection_limits import Connection, ConnectionLimits, HttpLimits, address_key
from tests.support.polling import wait_for
from tests.support.raw_http import everything_from, is_closed, statuses

Serve = Callable[..., Any]


class Clients:
    """Connections by number, over limits whose time the test decides."""

    def __init__(self, **limits: Any) -> None:
        self.now = 0.0
        self.limits = ConnectionLimits(HttpLimits(**limits), lambda: self.now)
        self.shut: list[int] = []

    def come(self, number: int, address: str = "10.0.0.1") -> bool:
        self.now += 0.001
        return self.limits.admit(number, address, lambda: self.shut.append(number))

    def of(self, number: int) -> Connection:
        found = self.limits.find(number)
        assert found is not None
        return found


def test_the_one_that_waits_longest_makes_room_for_one_of_its_address() -> None:
    clients = Clients(connections_per_address=2)
    assert clients.come(1) and clients.come(2) and clients.come(3, "10.0.0.2")
    assert clients.come(4) and clients.shut == [1]
    clients.limits.mark_busy(clients.of(2))
    assert clients.come(5) and clients.shut == [1, 4], "2 is worked on"


def test_connections_with_a_request_in_progress_are_not_closed_for_new_ones() -> None:
    clients = Clients(connections_per_address=2)
    for number in (1, 2):
        clients.come(number)
        clients.limits.mark_busy(clients.of(number))
    assert not clients.come(3) and not clients.shut
    clients.limits.mark_idle(clients.of(2))
    assert clients.come(3) and clients.shut == [2]


def test_at_the_total_limit_the_address_with_most_connections_loses_one() -> None:
    clients = Clients(connections=3)
    assert clients.come(1, "10.0.0.9") and clients.come(2) and clients.come(3)
    assert clients.come(4, "10.0.0.7") and clients.shut == [2]


def test_closed_connections_count_no_more() -> None:
    clients = Clients(connections_per_address=1)
    for number in range(5):
        assert clients.come(number)
        clients.limits.closed(number)
        clients.limits.closed(number)
    assert not clients.shut


def test_each_wait_has_an_end_and_work_has_none() -> None:
    clients = Clients(header_timeout=10, body_timeout=20, keep_alive=5)
    for number in range(4):
        clients.come(number)
    clients.limits.await_transfer(clients.of(1))
    clients.limits.mark_idle(clients.of(2))
    clients.limits.mark_busy(clients.of(3))
    for after, shut in ((6, []), (8, [2]), (11, [2, 0]), (21, [2, 0, 1]), (9999, [2, 0, 1])):
        clients.now = after
        clients.limits.tick()
        assert clients.shut == shut


def test_one_line_a_minute_shows_all_that_happened(caplog: pytest.LogCaptureFixture) -> None:
    clients = Clients(connections_per_address=1)
    with caplog.at_level(logging.WARNING):
        for round in range(3):
            for number in range(10):
                clients.come(100 * round + number)
            clients.limits.tick()
        assert len(caplog.messages) == 1 and "Ended 9 connections" in caplog.messages[0]
        clients.now = 61
        clients.limits.tick()
    assert len(caplog.messages) == 2 and "Ended 21 connections" in caplog.messages[1]
    assert "10.0.0.1" in caplog.messages[1]


def test_one_party_has_one_address_of_version_4_and_one_network_of_version_6() -> None:
    assert address_key("10.0.0.1") == address_key("::ffff:10.0.0.1") == "10.0.0.1"
    assert address_key("2001:db8::1") == address_key("2001:db8::ffff:2%eth0") != address_key("2001:db8:0:1::1")
    assert address_key("a Unix socket's") == "a Unix socket's"


def test_connections_that_never_begin_with_tls_make_room_too(serve_api: Serve, certificates: Any) -> None:
    served = serve_api(
        {
            "listeners": "https://127.0.0.1:0",
            "listeners.https.ssl.keystore.location": certificates.worker,
            "rest.max.connections.per.address": "3",
        }
    )
    port = served.endpoints.listeners.bound[0].listener.port
    with ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(6)]
        context = ssl.create_default_context(cafile=certificates.ca)
        assert httpx2.get(served.url, verify=context).status_code == 200
        wait_for(lambda: sum(map(is_closed, silent)) >= 4)


def test_heads_have_their_time(serve_api: Serve) -> None:
    served = serve_api({"rest.header.timeout.ms": "300"})
    port = served.endpoints.listeners.bound[0].listener.port
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(65536)
        assert statuses(answer) == [200]
        connection.sendall(b"GET / HTTP/1.1\r\nHo")
        assert everything_from(connection, 20) == b""
        wait_for(lambda: is_closed(connection))


def test_connections_at_rest_are_closed_after_their_time(serve_api: Serve) -> None:
    served = serve_api({"rest.keep.alive.timeout.ms": "100"})
    port = served.endpoints.listeners.bound[0].listener.port
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert statuses(everything_from(connection, 20)) == [200]


def test_clients_close_connections_at_rest_before_the_worker_does() -> None:
    """Else a request that is on its way while the worker closes its connection fails."""
    kept_by_httpx, kept_by_jetty = httpx2.Limits().keepalive_expiry or 0, 30
    defaults = define_rest_limits(ConfigDef()).parse({})
    assert HttpLimits().keep_alive == defaults[KEEP_ALIVE] / 1000 >= max(kept_by_jetty, kept_by_httpx * 2)
