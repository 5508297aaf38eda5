# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket

import pytest

from headrace.api.errors import ConfigError
from headrace.rest.server.listeners import BoundListener, BoundListeners, Listener


def without_sockets(*listeners: Listener) -> BoundListeners:
    return BoundListeners(tuple(BoundListener(listener, ()) for listener in listeners))


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("http://:8083", Listener("", 8083)),
        ("HTTP://0.0.0.0:8083", Listener("", 8083)),
        ("http://localhost:0", Listener("localhost", 0)),
        (" http://[::1]:18083/ ", Listener("::1", 18083)),
        ("HTTPS://:8443", Listener("", 8443, "https")),
    ],
)
def test_listeners_are_read(text: str, listener: Listener) -> None:
    assert Listener.parse(text) == listener


@pytest.mark.parametrize("text", ["https://host", "http://host", "ftp://x:1", "http://:port", "http://:99999", ":8083"])
def test_a_bad_listener_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^Invalid value '.*' for configuration listeners: ") as raised:
        Listener.parse(text)
    assert raised.value.value == text
    with pytest.raises(ConfigError, match=r"for configuration admin\.listeners: "):
        Listener.parse(text, "admin.listeners")


def test_a_busy_port_is_reported_in_one_line_and_nothing_stays_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError) as raised:
            BoundListeners.bind(["http://127.0.0.1:0", busy])
    assert str(raised.value) == f"Invalid value '{busy}' for configuration listeners: cannot listen there: " + (
        "the port is in use"
    )


def test_a_port_left_to_chance_is_known_once_bound() -> None:
    bound = BoundListeners.bind(["http://localhost:0", "http://:0"])
    try:
        first, second = (each.listener for each in bound.bound)
        assert first.port > 0 and second.port > 0
        assert bound.local_url == f"http://localhost:{first.port}"
        with socket.create_connection(("127.0.0.1", second.port), timeout=5):
            pass
    finally:
        bound.close()


def test_the_advertised_url_prefers_what_was_configured() -> None:
    bound = without_sockets(Listener("", 8083))
    assert bound.local_url == "http://localhost:8083"
    assert bound.advertised_url() == f"http://{socket.gethostname()}:8083"
    assert bound.advertised_url("worker-1", 80) == "http://worker-1:80"
    assert without_sockets(Listener("::1", 1)).advertised_url() == "http://[::1]:1"


def test_of_listeners_of_both_schemes_http_is_advertised_by_default() -> None:
    both = without_sockets(Listener("a", 1, "https"), Listener("b", 2))
    assert both.advertised_url() == "http://b:2"
    assert both.advertised_url(scheme="https") == "https://a:1"
    assert without_sockets(Listener("a", 1, "https")).advertised_url() == "https://a:1"
    assert without_sockets(Listener("a", 1)).advertised_url("proxy", scheme="https") == "https://proxy:1"


def test_admin_listeners_are_neither_local_nor_advertised() -> None:
    regular, admin = BoundListener(Listener("a", 1), ()), BoundListener(Listener("b", 2, "https"), (), admin=True)
    bound = BoundListeners((admin, regular))
    assert (bound.local_url, bound.advertised_url(), bound.admin_url) == ("http://a:1", "http://a:1", "https://b:2")
    assert BoundListeners((regular,)).admin_url is None


def test_a_busy_admin_port_is_reported_with_its_property() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match=r"configuration admin\."):
        BoundListeners.bind(["http://127.0.0.1:0"], [f"http://127.0.0.1:{taken.getsockname()[1]}"])


def test_no_answer_waits_for_the_acknowledgement_of_its_head() -> None:
    bound = BoundListeners.bind(["http://127.0.0.1:0"])
    try:
        listening = bound.bound[0].sockets[0]
        with socket.create_connection(listening.getsockname(), timeout=5):
            listening.setblocking(True)
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    finally:
        bound.close()
