# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from headrace.kafka.data.poll_keeper import PollKeeper

EVERY = 0.02
Make = Callable[[Callable[[], None]], PollKeeper]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[PollKeeper] = []

    def make(poll: Callable[[], None]) -> PollKeeper:
        made.append(PollKeeper(poll, EVERY))
        return made[-1]

    yield make
    for keeper in made:
        keeper.close()


def test_it_polls_while_something_slow_goes_on_and_never_else(make: Make) -> None:
    polled = threading.Semaphore(0)
    count = [0]

    def poll() -> None:
        count[0] += 1
        polled.release()

    keeper = make(poll)
    with keeper:
        for _ in range(3):
            assert polled.acquire(timeout=5)
    after = count[0]
    # Long enough for several more.
    threading.Event().wait(EVERY * 5)
    assert count[0] == after


def test_work_waits_for_the_owner_and_its_calls_go_back_to_the_poller(make: Make) -> None:
    polling, threads = threading.Event(), dict[str, int]()
    owner = threading.get_ident()

    def call() -> int:
        threads["call"] = threading.get_ident()
        return 42

    def work() -> None:
        threads["work"] = threading.get_ident()
        assert keeper.call_on_poller(call) == 42

    def poll() -> None:
        if not polling.is_set():
            polling.set()
            keeper.run_on_owner(work)
            threads["after"] = threading.get_ident()

    keeper = make(poll)
    with keeper:
        assert polling.wait(5)
        assert "work" not in threads
        # A call from within the block reaches the poller too, though that waits for the block's end.
        assert keeper.call_on_poller(lambda: threading.get_ident()) != owner
    assert threads["work"] == owner
    assert threads["call"] == threads["after"] != owner


def test_what_a_call_or_work_raises_comes_out(make: Make) -> None:
    polling, caught = threading.Event(), list[BaseException]()

    def fail() -> None:
        raise ValueError("no")

    def poll() -> None:
        if not polling.is_set():
            polling.set()
            try:
                keeper.run_on_owner(fail)
            except ValueError as error:
                caught.append(error)

    keeper = make(poll)
    with keeper:
        assert polling.wait(5)
        with pytest.raises(ValueError, match="no"):
            keeper.call_on_poller(fail)
    assert [str(error) for error in caught] == ["no"]


def test_without_a_poll_under_way_everything_is_done_here(make: Make) -> None:
    keeper, here = make(lambda: None), list[int]()
    keeper.run_on_owner(lambda: here.append(threading.get_ident()))
    assert keeper.call_on_poller(threading.get_ident) == threading.get_ident()
    assert here == [threading.get_ident()]
