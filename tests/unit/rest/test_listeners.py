# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket

import pytest

from headrace.api.errors import ConfigError
from headrace.rest.listeners import BoundListeners, Listener


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("http://:8083", Listener("", 8083)),
        ("HTTP://0.0.0.0:8083", Listener("", 8083)),
        ("http://localhost:0", Listener("localhost", 0)),
        (" http://[::1]:18083/ ", Listener("::1", 18083)),
    ],
)
def test_listeners_are_read(text: str, listener: Listener) -> None:
    assert Listener.parse(text) == listener


@pytest.mark.parametrize(
    "text", ["https://:8443", "http://host", "ftp://x:1", "http://:port", "http://:99999", ":8083"]
)
def test_a_bad_listener_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^Invalid value '.*' for configuration listeners: ") as raised:
        Listener.parse(text)
    assert raised.value.value == text


def test_a_busy_port_is_told_in_one_line_and_nothing_stays_open() -> None:
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
        first, second = bound.listeners
        assert first.port > 0 and second.port > 0
        assert bound.local_url == f"http://localhost:{first.port}"
        with socket.create_connection(("127.0.0.1", second.port), timeout=5):
            pass
    finally:
        bound.close()


def test_the_advertised_url_prefers_what_was_configured() -> None:
    bound = BoundListeners((Listener("", 8083),), ())
    assert bound.local_url == "http://localhost:8083"
    assert bound.advertised_url() == f"http://{socket.gethostname()}:8083"
    assert bound.advertised_url("worker-1", 80) == "http://worker-1:80"
    assert BoundListeners((Listener("::1", 1),), ()).advertised_url() == "http://[::1]:1"
