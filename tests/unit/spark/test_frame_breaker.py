# SPDX-License-Identifier: Apache-2.0
"""To whose account an engine's death is, and what follows from that."""

from __future__ import annotations

import threading

import pytest

from headrace.api.errors import RetriableError
from headrace.spark.frames.frame_breaker import BreakerLimits, FrameBreaker


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> FrameBreaker:
    return FrameBreaker(BreakerLimits(deaths=3, window=600), clock, turn=0.05)


def die(breaker: FrameBreaker, engine: str, *connectors: str) -> None:
    """Frame jobs of all these run, and each finds out for itself that the engine is dead."""
    if not connectors:
        return
    with breaker.running(connectors[0], engine):
        die(breaker, engine, *connectors[1:])
        breaker.engine_died(connectors[0], engine)


def refused(breaker: FrameBreaker, *connectors: str) -> list[str]:
    return [name for name in connectors if breaker.refusal(name) is not None]


def test_one_that_was_alone_is_refused_after_three(breaker: FrameBreaker) -> None:
    for number in range(3):
        assert refused(breaker, "a", "b") == []
        die(breaker, f"jvm-{number}", "a")
    assert "died 3 times within 600 s" in (breaker.refusal("a") or "")
    assert refused(breaker, "a", "b") == ["a"]


def test_pauses_get_longer(breaker: FrameBreaker) -> None:
    pauses = [breaker.backoff("a")]
    for number in range(2):
        die(breaker, f"jvm-{number}", "a")
        pauses.append(breaker.backoff("a"))
    assert pauses == [0, 2, 4]
    assert breaker.backoff("b") == 0


def test_a_death_with_several_connectors_is_attributed_by_the_next_one(breaker: FrameBreaker) -> None:
    die(breaker, "first", "a", "b", "c")
    assert [breaker.backoff(name) for name in "abc"] == [0, 0, 0]
    for number in range(3):
        die(breaker, f"jvm-{number}", "b", f"new-{number}")
    assert refused(breaker, "a", "b", "c", "new-0") == ["b"]


def test_a_death_with_several_connectors_under_watch_is_attributed_to_none(breaker: FrameBreaker) -> None:
    """One has waited in vain for the other's long job: either can have been it."""
    for number in range(5):
        die(breaker, f"jvm-{number}", "a", "b")
    assert refused(breaker, "a", "b") == []


def test_turns_come_in_order(clock: Clock) -> None:
    """One that asks for the next job as soon as the last has ended does not keep the others out."""
    breaker = FrameBreaker(BreakerLimits(), clock, turn=30)
    die(breaker, "jvm", "a", "b")
    asked, began, over = threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        with breaker.running("b", "next", lambda: bool(asked.set())):
            began.set()
            over.wait(10)

    thread = threading.Thread(target=run)
    with breaker.running("a", "next"):
        thread.start()
        assert asked.wait(10)
    threading.Timer(0.1, over.set).start()
    with breaker.running("a", "next"):
        assert began.is_set()
    thread.join(10)


def test_a_connector_whose_turn_comes_after_the_death_is_not_blamed(breaker: FrameBreaker) -> None:
    die(breaker, "jvm", "a")
    die(breaker, "jvm", "b")
    assert (breaker.backoff("a"), breaker.backoff("b")) == (2, 0)


def test_several_jobs_of_one_connector_are_one(breaker: FrameBreaker) -> None:
    die(breaker, "jvm", "a", "a")
    assert breaker.backoff("a") == 2


def test_deaths_are_forgotten(breaker: FrameBreaker, clock: Clock) -> None:
    for number in range(5):
        die(breaker, f"jvm-{number}", "a")
        clock.now += 301
        assert refused(breaker, "a") == []
    for number in range(3):
        die(breaker, f"later-{number}", "a")
    clock.now += 10_000
    assert refused(breaker, "a") == [], "no request came in time: it would have been refused then"


def test_a_refused_connector_stays_refused_until_it_is_launched_again(breaker: FrameBreaker, clock: Clock) -> None:
    for number in range(3):
        die(breaker, f"jvm-{number}", "a")
    assert refused(breaker, "a") == ["a"]
    clock.now += 10_000
    assert refused(breaker, "a") == ["a"]
    breaker.launched("a")
    assert refused(breaker, "a") == []
    clock.now += 1
    die(breaker, "another", "a")
    assert refused(breaker, "a") == []


def test_a_launch_of_one_that_is_not_refused_forgets_nothing(breaker: FrameBreaker) -> None:
    for number in range(3):
        die(breaker, f"jvm-{number}", "a")
        breaker.launched("a")
    assert refused(breaker, "a") == ["a"]


def test_lost_executors_count_too(breaker: FrameBreaker) -> None:
    for _ in range(3):
        breaker.lost_executors("a")
    assert refused(breaker, "a") == ["a"]


def test_those_under_watch_run_one_after_the_other_and_others_as_they_like(clock: Clock) -> None:
    breaker = FrameBreaker(BreakerLimits(), clock, turn=30)
    die(breaker, "jvm", "a", "b")
    began = threading.Event()

    def run() -> None:
        with breaker.running("b", "next"):
            began.set()

    thread = threading.Thread(target=run)
    with breaker.running("a", "next"), breaker.running("other", "next"), breaker.running("a", "next"):
        thread.start()
        assert not began.wait(0.3)
    assert began.wait(10)
    thread.join(10)


def test_no_job_waits_without_end_nor_when_it_is_not_wanted_any_more(breaker: FrameBreaker) -> None:
    die(breaker, "jvm", "a", "b")
    with breaker.running("a", "next"), breaker.running("b", "next"):
        pass
    patient = FrameBreaker(turn=30)
    die(patient, "jvm", "a", "b")
    with patient.running("a", "next"):
        with pytest.raises(RetriableError), patient.running("b", "next", lambda: True):
            raise AssertionError("it runs")
        patient.engine_died("a", "next")
    assert (patient.backoff("a"), patient.backoff("b")) == (2, 0)
