# SPDX-License-Identifier: Apache-2.0
"""Two sides that know a key, and those who do not, play both, or listen to another conversation."""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Callable, Iterator
from multiprocessing import AuthenticationError, Pipe
from multiprocessing.connection import Connection
from typing import Any

import pytest

from headrace.spark.channel.mutual_proof import prove_as_caller, prove_as_listener

KEY = b"k" * 32
Ends = tuple["Connection[Any, Any]", "Connection[Any, Any]"]
REFUSED = (AuthenticationError, EOFError, OSError)


@pytest.fixture
def ends() -> Iterator[Ends]:
    caller, listener = Pipe()
    yield caller, listener
    caller.close()
    listener.close()


def beside(prove: Callable[[Any, bytes], None], end: Connection[Any, Any], key: bytes) -> Callable[[], Any]:
    """One side on a thread of its own; its end closes when it gives up. The call waits for what it has raised."""
    raised: list[BaseException | None] = []

    def run() -> None:
        try:
            prove(end, key)
            raised.append(None)
        except REFUSED as error:
            end.close()
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def result() -> BaseException | None:
        thread.join(5)
        return raised[0]

    return result


def test_who_knows_the_key_is_let_in_and_can_talk(ends: Ends) -> None:
    caller, listener = ends
    there = beside(prove_as_listener, listener, KEY)
    prove_as_caller(caller, KEY)
    assert there() is None
    caller.send("the next message is only theirs")
    assert listener.recv() == "the next message is only theirs"


def test_each_side_refuses_another_key(ends: Ends) -> None:
    caller, listener = ends
    there = beside(prove_as_listener, listener, KEY)
    with pytest.raises(AuthenticationError, match="the other side has another key"):
        prove_as_caller(caller, b"guessed")
    assert isinstance(there(), AuthenticationError)


def test_a_listener_that_lets_any_client_in_is_found_out(ends: Ends) -> None:
    caller, listener = ends
    there = beside(prove_as_caller, caller, KEY)
    listener.send_bytes(b"c" * 32)
    listener.recv_bytes()
    listener.send_bytes(b"welcome")
    listener.recv_bytes()
    listener.send_bytes(b"made up")
    assert isinstance(there(), AuthenticationError)


def test_the_proof_is_sha256_of_a_role_and_serves_no_other_role(ends: Ends) -> None:
    """A caller's proof is worth nothing as a listener's: what one gives away cannot be sent back to it."""
    caller, listener = ends
    there = beside(prove_as_caller, caller, KEY)
    listener.send_bytes(b"c" * 32)
    proof = listener.recv_bytes()
    assert proof == hmac.new(KEY, b"headrace caller" + b"c" * 32, hashlib.sha256).digest()
    listener.send_bytes(b"welcome")
    challenge = listener.recv_bytes()
    listener.send_bytes(hmac.new(KEY, b"headrace caller" + challenge, hashlib.sha256).digest())
    assert isinstance(there(), AuthenticationError)


@pytest.mark.parametrize("challenge", [b"", b"short", b"c" * 33, b"c" * 65])
def test_what_is_no_challenge_is_not_answered(ends: Ends, challenge: bytes) -> None:
    caller, listener = ends
    there = beside(prove_as_caller, caller, KEY)
    listener.send_bytes(challenge)
    assert isinstance(there(), (AuthenticationError, OSError))
