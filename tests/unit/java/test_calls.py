# SPDX-License-Identifier: Apache-2.0
"""Calls over a connection, with both ends in this process."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from multiprocessing import Pipe
from typing import Any

import pytest

from headrace.api.error_text import error_trace, set_trace
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.java.calls import Calls, DisconnectedError, Work
from headrace.model.process_end import ExitCalled

SECONDS = 30
JAVA_TRACE = "java.lang.Exception: no\n    at Example.no(Example.java:1)"


def in_background(work: Work) -> None:
    threading.Thread(target=work, daemon=True).start()


class Receiver:
    """Methods for the other end to call."""

    def __init__(self, back: Calls) -> None:
        self.back = back
        self.go_on = threading.Event()

    def add(self, one: int, other: int) -> int:
        return one + other

    def fail(self, error: BaseException) -> None:
        raise error

    def fail_in_java(self) -> None:
        error = ConnectError("no")
        set_trace(error, JAVA_TRACE)
        raise error

    def unsendable(self) -> Any:
        return threading.Lock()

    def ask_back(self) -> Any:
        return self.back.request("add", 1, 1).result(SECONDS)

    def wait(self) -> str:
        self.go_on.wait(SECONDS)
        return "waited"


class Ends:
    """Two ends that serve each other."""

    def __init__(self) -> None:
        self.links = Pipe()
        self.here, self.there = (Calls(link, in_background) for link in self.links)
        self.receiver = Receiver(self.there)
        in_background(lambda: self.here.serve(Receiver(self.here)))
        self.serving = threading.Thread(target=lambda: self.there.serve(self.receiver), daemon=True)
        self.serving.start()

    def call(self, method: str, *arguments: object) -> Any:
        return self.here.request(method, *arguments).result(SECONDS)


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    ends.receiver.go_on.set()


def test_both_ends_call_each_other(ends: Ends) -> None:
    assert ends.call("add", 2, 3) == 5
    assert ends.call("ask_back") == 2


def test_a_call_does_not_wait_for_another(ends: Ends) -> None:
    waiting = ends.here.request("wait")
    assert ends.call("add", 2, 3) == 5
    assert not waiting.done()
    ends.receiver.go_on.set()
    assert waiting.result(SECONDS) == "waited"


@pytest.mark.parametrize("kind", [ConnectError, DataError, RetriableError, NotImplementedError])
def test_errors_keep_their_types(ends: Ends, kind: type[Exception]) -> None:
    with pytest.raises(kind) as raised:
        ends.call("fail", kind("no"))
    assert (type(raised.value), str(raised.value)) == (kind, "no")
    assert "in fail" in raised.value.__notes__[0]


def test_other_errors(ends: Ends) -> None:
    with pytest.raises(ConfigError) as raised:
        ends.call("fail", ConfigError("bad", "topic"))
    assert (str(raised.value), raised.value.name) == ("bad", "topic")
    for error in (ValueError("no"), SystemExit("no")):
        with pytest.raises(ConnectError) as other:
            ends.call("fail", error)
        assert str(other.value) == f"{type(error).__name__}: no"


def test_an_error_brings_the_stack_trace_of_java_alone(ends: Ends) -> None:
    with pytest.raises(ConnectError) as raised:
        ends.call("fail_in_java")
    assert error_trace(raised.value) == JAVA_TRACE


def test_what_cannot_be_sent_is_an_error_of_the_call_alone(ends: Ends) -> None:
    with pytest.raises(ConnectError, match="cannot pickle"):
        ends.call("unsendable")
    with pytest.raises(TypeError, match="cannot pickle"):
        ends.call("add", threading.Lock())
    assert ends.call("add", 2, 3) == 5


def test_calls_end_with_the_other_process(ends: Ends) -> None:
    waiting: Future[Any] = ends.here.request("wait")
    with socket.socket(fileno=os.dup(ends.links[1].fileno())) as link:
        link.shutdown(socket.SHUT_RDWR)
    with pytest.raises(DisconnectedError):
        waiting.result(SECONDS)
    with pytest.raises(DisconnectedError):
        ends.call("add", 1, 1)


def test_an_end_that_java_code_ends_says_so_before(ends: Ends) -> None:
    ends.there.report_exit("A.b (A.java:7)")
    assert ends.here.request("add", 1, 2).result(SECONDS) == 3  # its answer comes after that
    assert ends.here.exit_called == ExitCalled("A.b (A.java:7)")
    assert ends.there.exit_called is None
