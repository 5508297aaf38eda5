# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging

import pytest

from headrace.api.errors import DataError, RetriableError
from headrace.api.record import SourceRecord
from headrace.model.health import Handling, Stage, TaskError
from headrace.task.errors.error_reports import ErrorReports, ToleratedErrorReporter
from headrace.task.errors.processing_context import ConsumedRecord, Operation, ProcessingContext
from headrace.task.errors.processing_context import Stage as OperationStage
from headrace.task.errors.task_errors import position_of
from headrace.task.task_protocol import ErrorMet, ProcessEvent
from tests.unit.clock import Clock

REFUSED = "The database says: Connection to db:5432 refused."
HINT = "is the database up, and reachable at db:5432 from the workers and executors?"


class Bench:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.sent: list[TaskError] = []
        self.reports = ErrorReports(self._send, clock)

    def _send(self, event: ProcessEvent) -> None:
        assert isinstance(event, ErrorMet)
        self.sent.append(event.error)

    def fail(self, text: str = REFUSED, after: float = 0.0, operation: str = "poll") -> None:
        self.clock.now += after
        error = RetriableError(text)
        self.reports.retried(operation, Stage.POLLING, error, f"{operation} failed: {text}", delay=2.5)


@pytest.fixture
def bench(clock: Clock) -> Bench:
    return Bench(clock)


@pytest.fixture(autouse=True)
def info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_the_worker_gets_the_first_error_at_once_and_all_of_it(bench: Bench) -> None:
    bench.fail()
    [met] = bench.sent
    assert (met.error_class, met.message, met.stage, met.handling) == (
        "RetriableError", REFUSED, Stage.POLLING, Handling.RETRIED,
    )  # fmt: skip
    assert met.hint == HINT
    assert met.next_attempt_ms == met.time_ms + 2500


def test_then_the_newest_once_a_second(bench: Bench) -> None:
    for number in range(27):
        bench.fail(f"no {number}", 0.125)
        bench.reports.send_waiting()
    assert [met.message for met in bench.sent] == ["no 0", "no 8", "no 16", "no 24"]
    bench.clock.now += 1
    bench.reports.send_waiting()
    bench.reports.send_waiting()
    assert [met.message for met in bench.sent][4:] == ["no 26"]


def test_the_log_has_one_line_with_a_trace_one_a_minute_and_one_at_the_end(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.fail()
    for _ in range(13):
        bench.fail(after=10)
    bench.clock.now += 2
    bench.reports.succeeded("poll")
    bench.reports.succeeded("poll")
    lines = [record.message for record in caplog.records]
    assert lines[0] == f"poll failed: {REFUSED} ({HINT})"
    assert [line.partition("; ")[2].partition(" since")[0] for line in lines[1:3]] == [
        "it has failed 7 times", "it has failed 13 times",
    ]  # fmt: skip
    assert lines[3:] == ["poll succeeded again after 132 s, in which it had failed 14 times"]
    assert [record.exc_info is not None for record in caplog.records] == [True, False, False, False]


def test_a_new_reason_has_a_line_of_its_own_and_other_numbers_are_none(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    files = [f"file {number} of batch-{number:012x}" for number in (1, 22, 333)]
    for text in (*files[:2], "starting up", files[2]):
        bench.fail(text, 0.1)
    assert [line.partition(";")[0] for line in caplog.messages] == [
        "poll failed: file 1 of batch-000000000001", "poll failed: starting up",
    ]  # fmt: skip


def test_an_operation_that_soon_succeeds_each_time_has_a_line_a_minute(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(100):
        bench.fail(after=1.0)
        bench.clock.now += 0.2
        bench.reports.succeeded("poll")
    # 120 seconds, each line with its end; one that lasts is not missed.
    assert len(caplog.messages) == 2 * 2
    bench.fail(after=1.0)
    bench.fail(after=1.0)
    bench.reports.succeeded("poll")
    assert [line.partition("; ")[2].partition(" since")[0] for line in caplog.messages[4:]] == [
        "it has failed 2 times",
        "",
    ]


def test_an_outage_in_which_nothing_was_tried_for_long_is_over(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.fail()
    bench.fail(after=3600)
    assert caplog.messages[1] == caplog.messages[0]


def test_operations_do_not_end_each_others_outages(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.fail(operation="poll")
    bench.reports.succeeded("put")
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("tolerated", [True, False])
def test_a_tolerated_record_is_reported_with_its_position_and_not_logged(
    bench: Bench, caplog: pytest.LogCaptureFixture, tolerated: bool
) -> None:
    operation = Operation(OperationStage.VALUE_CONVERTER, "JsonConverter")
    record = ConsumedRecord("t", 3, 4711, None, b"x")
    context = ProcessingContext(record, operation, 1, DataError("no JSON"), tolerated)
    ToleratedErrorReporter[ConsumedRecord](bench.reports).report(context)
    assert [(e.stage, e.handling, e.position, e.hint) for e in bench.sent] == [
        (
            Stage.CONVERTING,
            Handling.TOLERATED,
            {"topic": "t", "partition": 3, "offset": 4711},
            "is value.converter the converter that fits these records?",
        )
    ] * tolerated
    assert caplog.messages == []


def test_a_position_is_of_bounded_size() -> None:
    """Errors are sent to the worker once a second, and kept; a request for the health gets them."""
    huge = {"file": "a" * 10**6, "b" * 10**6: 1, "parts": ["c" * 10**6]}
    position = position_of(SourceRecord(huge, huge, "t"))
    assert len(str(position)) < 20_000 and "a" * 900 in position["source_partition"]["file"]
    short = {"file": "a", "at": 3, "parts": ["x"]}
    kept = position_of(SourceRecord(short, None, "t"))
    assert kept == {"source_partition": {"file": "a", "at": 3, "parts": "['x']"}, "source_offset": None}
