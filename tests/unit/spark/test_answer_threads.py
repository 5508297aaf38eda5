# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from headrace.spark.task.attached_process import AnswerThreads
from tests.support.polling import wait_for


@pytest.fixture
def threads() -> Iterator[AnswerThreads]:
    made = AnswerThreads("answers-of-this-test")
    yield made
    made.close()
    wait_for(lambda: not alive(), 10, "the end of all threads")


def alive() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "answers-of-this-test"]


def test_an_answer_that_takes_its_time_delays_no_other(threads: AnswerThreads) -> None:
    begun, go_on = threading.Barrier(4), threading.Event()
    for _ in range(3):
        threads.submit(lambda: begun.wait(10) and go_on.wait(10))
    begun.wait(10)
    assert len(alive()) == 3
    go_on.set()


def test_one_answer_after_the_other_takes_one_thread(threads: AnswerThreads) -> None:
    used: set[int] = set()
    for _ in range(20):
        answered = threading.Event()
        threads.submit(lambda done=answered: (used.add(threading.get_ident()), done.set()))  # type: ignore[misc]
        assert answered.wait(10)
        wait_for(lambda: threads._idle == 1, 10, "the thread's return")
    assert len(used) == 1


def test_answers_under_way_are_given_after_the_end(threads: AnswerThreads) -> None:
    begun, go_on, given = threading.Event(), threading.Event(), threading.Event()
    threads.submit(lambda: (begun.set(), go_on.wait(10), given.set()))
    assert begun.wait(10)
    threads.close()
    go_on.set()
    assert given.wait(10)
