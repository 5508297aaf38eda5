# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading

import pytest

from headrace.model.service_threads import ServiceThread, ThreadDeaths


class Wordless(BaseException):
    def __str__(self) -> str:
        raise ValueError("no words")


def die(error: BaseException) -> None:
    raise error


@pytest.fixture
def deaths(monkeypatch: pytest.MonkeyPatch) -> ThreadDeaths:
    made = ThreadDeaths()
    monkeypatch.setattr(threading, "excepthook", made.record)
    return made


@pytest.mark.parametrize("error", [ValueError("poison"), SystemExit("poison"), KeyboardInterrupt("poison")])
def test_a_service_that_dies_is_a_loss(deaths: ThreadDeaths, error: BaseException) -> None:
    thread = ServiceThread("log-t", lambda: die(error), "nothing is read")
    thread.start()
    thread.join()
    expected = f"Thread log-t died of {type(error).__name__}: poison; nothing is read. Restart the worker"
    assert deaths.losses() == (expected,) and not deaths.minor()


def test_other_threads_are_reported_and_only_so_many(deaths: ThreadDeaths) -> None:
    for number in range(30):
        thread = threading.Thread(target=die, args=(Wordless(),), name=f"task-{number}")
        thread.start()
        thread.join()
    assert not deaths.losses() and len(deaths.minor()) == 20
    assert deaths.minor()[0] == "Thread task-0 died of Wordless: (it cannot say why)"
    deaths.clear()
    assert not deaths.minor()


def test_a_service_that_ends_is_none(deaths: ThreadDeaths) -> None:
    thread = ServiceThread("log-t", lambda: None, "nothing is read")
    thread.start()
    thread.join()
    assert not deaths.losses()
