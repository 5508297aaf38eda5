# SPDX-License-Identifier: Apache-2.0
"""What the network may do to a channel, and who is let in."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing import AuthenticationError
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from headrace.api.errors import ConfigError
from headrace.spark.channel import endpoint
from headrace.spark.channel.endpoint import ChannelListener, Interface, Link
from headrace.spark.channel.tls_connection import Certificate, TlsConnection
from tests.support.polling import wait_for
from tests.unit.many_files import beyond_select

REFUSED = (AuthenticationError, EOFError, OSError)


class Host:
    """Admits one caller after the other."""

    def __init__(self, doorway: ChannelListener) -> None:
        self.doorway = doorway
        self.admitted: list[Link] = []
        self.refused: list[BaseException] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                caller = self.doorway.accept()
            except OSError:
                return
            try:
                self.admitted.append(self.doorway.admit(caller))
            except REFUSED as error:
                self.refused.append(error)

    def pair(self) -> tuple[Link, Link]:
        """Both ends of a new connection."""
        number = len(self.admitted)
        there = self.doorway.endpoint.connect()
        return wait_for(lambda: self.admitted[number:], 5)[0], there


@pytest.fixture
def host() -> Iterator[Callable[[bool], Host]]:
    doorways: list[ChannelListener] = []

    def made(tls: bool) -> Host:
        doorways.append(ChannelListener(Interface("127.0.0.1", "127.0.0.1", tls=tls)))
        return Host(doorways[-1])

    yield made
    for doorway in doorways:
        doorway.close()


def sent(connection: Link, messages: list[bytes]) -> threading.Thread:
    thread = threading.Thread(target=lambda: [connection.send(message) for message in messages])
    thread.start()
    return thread


@pytest.mark.parametrize("tls", [False, True])
def test_both_sides_may_send_more_than_the_network_holds_at_the_same_time(host: Any, tls: bool) -> None:
    here, there = host(tls).pair()
    messages = [bytes([number]) * 700_000 for number in range(20)]
    threads = [sent(here, messages), sent(there, messages)]
    for end in (there, here):
        assert [end.recv() for _ in messages] == messages
    for thread in threads:
        thread.join(5)


@pytest.mark.parametrize("tls", [False, True])
def test_one_thread_may_send_while_another_one_waits_for_messages(host: Any, tls: bool) -> None:
    here, there = host(tls).pair()
    received: list[Any] = []
    waiting = threading.Thread(target=lambda: received.append(here.recv()), daemon=True)
    waiting.start()
    for number in range(3):
        here.send(number)
        assert there.poll(5)
        assert there.recv() == number
    assert not received
    there.send("at last")
    waiting.join(5)
    assert received == ["at last"]


@pytest.mark.parametrize("tls", [False, True])
def test_a_listener_gets_a_message_and_the_end(host: Any, tls: bool) -> None:
    here, there = host(tls).pair()
    assert not here.poll(0.05)
    there.send(["one", 1])
    there.send_bytes(b"")
    assert here.poll(5)
    assert here.recv() == ["one", 1]
    assert here.recv_bytes() == b""
    there.close()
    assert here.poll(5)
    with pytest.raises(EOFError):
        here.recv()


@pytest.mark.parametrize("tls", [False, True])
def test_a_worker_may_have_more_than_a_thousand_files_open(host: Any, tls: bool) -> None:
    with beyond_select():
        here, there = host(tls).pair()
        assert not here.poll(0.01)
        there.send("heard")
        assert here.poll(5)
        assert here.recv() == "heard"


def test_only_the_certificate_that_travels_with_the_job_is_accepted(host: Any) -> None:
    real = host(True)
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        replace(real.doorway.endpoint, certificate=Certificate.make().pem).connect()
    wait_for(lambda: real.refused, 5)
    real.pair()


def test_what_is_said_through_tls_cannot_be_read_on_the_way(host: Any) -> None:
    real, heard = host(True), bytearray()
    with socket.create_server(("127.0.0.1", 0)) as tap:
        threading.Thread(target=_tap, args=(tap, real.doorway.endpoint.address, heard), daemon=True).start()
        there = replace(real.doorway.endpoint, address=tap.getsockname()).connect()
        there.send("the password is swordfish")
        assert wait_for(lambda: real.admitted, 5)[0].recv() == "the password is swordfish"
    assert isinstance(there, TlsConnection)
    assert heard
    assert b"swordfish" not in heard


def test_who_knows_the_key_but_speaks_no_tls_is_sent_away(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_CONNECT_TIMEOUT_S", 1.0)  # seconds that both sides wait for a word of the other one
    real = host(True)
    with pytest.raises(REFUSED):
        replace(real.doorway.endpoint, certificate=None).connect()
    real.pair()


def test_who_knows_the_certificate_but_not_the_key_is_sent_away(host: Any) -> None:
    real = host(True)
    with pytest.raises(REFUSED):
        replace(real.doorway.endpoint, authkey=b"guessed").connect()
    assert isinstance(wait_for(lambda: real.refused, 5)[0], AuthenticationError)


def test_an_endpoint_travels_and_shows_no_secret(host: Any) -> None:
    shown = host(True).doorway.endpoint
    assert pickle.loads(pickle.dumps(shown)) == shown
    assert repr(shown.authkey) not in repr(shown)
    assert "CERTIFICATE" not in repr(shown)
    assert "PRIVATE" not in str(shown.certificate)


def test_messages_go_out_at_once(host: Any) -> None:
    for end in host(False).pair():
        with socket.socket(fileno=os.dup(end.fileno())) as same:
            assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert same.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_an_address_of_another_machine_cannot_be_listened_at() -> None:
    with pytest.raises(ConfigError, match=r"cannot listen at 192\.0\.2\.1:0: .*spark\.driver\.bindAddress"):
        ChannelListener(Interface("192.0.2.1", "192.0.2.1"))


def test_a_socket_of_this_machine_goes_with_its_listener(socket_directory: Path) -> None:
    doorway = ChannelListener(socket_directory / "s")
    assert (socket_directory / "s").exists()
    doorway.close()
    assert not (socket_directory / "s").exists()


def _tap(listener: socket.socket, address: Any, heard: bytearray) -> None:
    """Carries bytes from a caller to the real listener and back, and keeps those of the caller."""
    caller, real = listener.accept()[0], socket.create_connection(address)

    def back() -> None:
        with suppress(OSError):
            while data := real.recv(65536):
                caller.sendall(data)

    threading.Thread(target=back, daemon=True).start()
    with suppress(OSError):
        while data := caller.recv(65536):
            heard += data
            real.sendall(data)


def test_what_executors_lack_to_encrypt_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ConfigError, match=r"executors needs the package cryptography: .*task\.channel\.tls=never"):
        ChannelListener(Interface("127.0.0.1", "127.0.0.1", tls=True))


def test_clocks_have_no_say_in_the_channels_certificate() -> None:
    certificate = x509.load_pem_x509_certificate(Certificate.make().pem.encode())
    assert (certificate.not_valid_before_utc.year, certificate.not_valid_after_utc.year) == (1970, 9999)
