# SPDX-License-Identifier: Apache-2.0
"""Whether a sink that reads nothing makes progress: not while its brokers are away."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.kafka.errors import RetriableKafkaError
from headrace.model.health import Handling, Stage
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.sink.sink_reading import ReadErrors, SinkReading
from headrace.task.task_progress import TaskProgress
from headrace.task.task_protocol import ErrorMet

DOWN = RetriableKafkaError("consuming: 1/1 brokers are down (_ALL_BROKERS_DOWN)")


class Bench:
    """A task that reads; its consumer and its topics. Each question takes half a second of the clock."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.sent: list[Any] = []
        self.errors = ReadErrors(ErrorReports(self.sent.append, clock), clock)
        self.progress = TaskProgress(clock)
        self.reading = SinkReading(self, self, self.errors, self.progress)
        self.messages = 0
        self.up = True
        self.failing = False
        self.asked: list[float] = []

    def refresh_if_due(self) -> None: ...

    def consume(self, limit: int, timeout: float) -> ConsumedMessages:
        return ConsumedMessages(cast(Any, [None] * self.messages))

    def brokers_answer(self, timeout: float) -> bool:
        self.asked.append(self.clock.now)
        self.clock.now += timeout
        return self.up

    def is_progress(self) -> bool:
        self.clock.now += 0.1
        self.reading.read(10, 0.1)
        return self.progress.measure().last_poll == 0


@pytest.fixture
def bench(clock: Any) -> Bench:
    return Bench(clock)


def test_to_read_nothing_is_progress_and_asks_nothing(bench: Bench) -> None:
    assert all(bench.is_progress() for _ in range(100))
    assert not bench.asked and not bench.sent


def test_it_is_none_until_the_brokers_answer(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.up = False
    with caplog.at_level(logging.INFO):
        bench.errors.met(DOWN)
        began = bench.clock.now
        while bench.clock.now < began + 20:
            assert not bench.is_progress()
        assert len(bench.asked) <= 10 and bench.asked[0] <= began + 0.1
        assert all(later - earlier >= 2 for earlier, later in zip(bench.asked, bench.asked[1:], strict=False))
        bench.up = True
        while not bench.is_progress():
            assert bench.clock.now < began + 25
    errors = [event.error for event in bench.sent if isinstance(event, ErrorMet)]
    assert len(errors) > 5 and {(each.stage, each.handling) for each in errors} == {(Stage.READING, Handling.RETRIED)}
    assert "reading succeeded again after" in caplog.messages[-1]
    asked = len(bench.asked)
    assert all(bench.is_progress() for _ in range(100))
    assert len(bench.asked) == asked


def test_messages_are_an_answer_too(bench: Bench) -> None:
    bench.up = False
    bench.errors.met(DOWN)
    assert not bench.is_progress()
    bench.messages = 3
    assert bench.is_progress()
    bench.messages = 0
    assert bench.is_progress() and len(bench.asked) == 1


def test_a_second_error_does_not_have_it_asked_sooner(bench: Bench) -> None:
    bench.up = False
    for _ in range(10):
        bench.errors.met(DOWN)
        assert not bench.is_progress()
    assert len(bench.asked) == 1


def test_topics_that_cannot_be_looked_up_are_no_progress_either(bench: Bench) -> None:
    bench.failing = True
    assert not bench.is_progress()
    bench.failing = False
    assert bench.is_progress() and not bench.asked
