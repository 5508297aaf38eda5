# SPDX-License-Identifier: Apache-2.0
"""KIP-298 on a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.api.errors import ConnectError, DataError, RetriableError
from headrace.task.errors.processing_context import ConsumedRecord, Operation, Stage
from headrace.task.errors.retry_with_tolerance import (
    SKIPPED,
    RetryWithTolerance,
    StoppedWhileRetryingError,
    ToleranceExceededError,
)
from headrace.task.task_metrics import TaskMetrics

TRANSFORMATION = Operation(Stage.TRANSFORMATION, "mine.Mask", "mask")
CONSUMED = ConsumedRecord("t", 3, 42, None, b"v")


def failing(*errors: Exception) -> Callable[[], str]:
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return call


def later(times: int) -> Callable[[], str]:
    return failing(*[RetriableError(f"attempt {n}") for n in range(1, times + 1)])


def test_what_succeeds_meets_nothing(errors: Any) -> None:
    assert errors().execute(TRANSFORMATION, CONSUMED, failing()) == "done"
    errors.metrics.report()
    assert errors.figures == {}


def test_delays_double_up_to_the_longest(errors: Any) -> None:
    operator = errors(retry_timeout=None, retry_max_delay=2.0)
    assert operator.execute(TRANSFORMATION, CONSUMED, later(6)) == "done"
    assert errors.waited == [0.3, 0.6, 1.2, 2.0, 2.0, 2.0]
    assert errors.reported == []


def test_delays_are_spread(errors: Any, clock: Any) -> None:
    from headrace.config.connector_config import ErrorHandling

    waited: list[float] = []
    metrics = TaskMetrics(lambda values: None, clock)
    spread = iter([0.0, 0.5, 1.0])
    handling = ErrorHandling(True, None, 60.0)
    operator: RetryWithTolerance[Any] = RetryWithTolerance(
        handling, [], metrics, lambda seconds: bool(waited.append(seconds)), clock, lambda: next(spread)
    )
    operator.execute(TRANSFORMATION, CONSUMED, later(3))
    assert waited == pytest.approx([0.15, 0.45, 1.2])


def test_no_delay_at_all_is_no_busy_loop(errors: Any) -> None:
    errors(retry_timeout=None, retry_max_delay=0.0).execute(TRANSFORMATION, CONSUMED, later(2))
    assert errors.waited == [0.01, 0.01]


def test_a_very_long_outage(errors: Any) -> None:
    errors(retry_timeout=None).execute(TRANSFORMATION, CONSUMED, later(3000))
    assert errors.waited[-1] == 60.0


def test_the_last_attempt_is_at_the_deadline(errors: Any) -> None:
    assert errors(retry_timeout=1.0).execute(TRANSFORMATION, CONSUMED, later(9)) is SKIPPED
    assert errors.waited == [0.3, 0.6, 0.1]
    [context] = errors.reported
    assert (context.attempt, str(context.error)) == (4, "attempt 4")


@pytest.mark.parametrize(("timeout", "attempts"), [(0.0, 1), (1.0, 4)])
@pytest.mark.parametrize("stage", Stage)
def test_exhausted_retries_are_reported_and_skipped_or_fail_never_neither(
    stage: Stage, timeout: float, attempts: int, errors: Any
) -> None:
    """KAFKA-18073."""
    operation = Operation(stage, "C")
    assert errors(retry_timeout=timeout).execute(operation, CONSUMED, later(9)) is SKIPPED
    assert [(c.attempt, c.tolerated) for c in errors.reported] == [(attempts, True)]
    after = "" if attempts == 1 else f" after {attempts} attempts"
    with pytest.raises(ToleranceExceededError, match=rf"{stage.value} \(C\) failed{after} for .*: attempt {attempts}"):
        errors(retry_timeout=timeout, tolerates=False).execute(operation, CONSUMED, later(9))
    assert [c.tolerated for c in errors.reported] == [True, False]


def test_another_error_ends_the_retries(errors: Any) -> None:
    call = failing(RetriableError("not now"), DataError("never"))
    assert errors(retry_timeout=None).execute(TRANSFORMATION, CONSUMED, call) is SKIPPED
    assert [(c.attempt, str(c.error)) for c in errors.reported] == [(2, "never")]


@pytest.mark.parametrize("error", [DataError("x"), ConnectError("x"), KeyError("x"), RecursionError("x")])
def test_which_errors_concern_one_record(error: Exception, errors: Any) -> None:
    for stage in (Stage.TRANSFORMATION, Stage.KEY_CONVERTER, Stage.VALUE_CONVERTER, Stage.HEADER_CONVERTER):
        assert errors().execute(Operation(stage, "C"), CONSUMED, failing(error)) is SKIPPED
    for stage in (Stage.TASK_POLL, Stage.TASK_PUT, Stage.KAFKA_PRODUCE, Stage.KAFKA_CONSUME):
        with pytest.raises(ToleranceExceededError) as raised:
            errors().execute(Operation(stage, "C"), CONSUMED, failing(error))
        assert raised.value.__cause__ is error


def test_what_is_never_tolerated(errors: Any) -> None:
    with pytest.raises(ToleranceExceededError, match="MemoryError") as raised:
        errors().execute(TRANSFORMATION, CONSUMED, failing(MemoryError()))
    # The hint would be of no use.
    assert "errors.tolerance" not in str(raised.value)
    with pytest.raises(KeyboardInterrupt):
        errors().execute(TRANSFORMATION, CONSUMED, failing(KeyboardInterrupt()))  # type: ignore[arg-type]


def test_the_message_says_what_to_do(errors: Any) -> None:
    with pytest.raises(ToleranceExceededError) as raised:
        errors(tolerates=False).execute(TRANSFORMATION, CONSUMED, failing(DataError("no field 'x'.")))
    assert str(raised.value) == (
        "TRANSFORMATION mask (mine.Mask) failed for the record of topic t, partition 3, offset 42: no field 'x'. "
        "To set such records aside, set errors.tolerance=all and errors.deadletterqueue.topic.name"
    )


def test_a_stop_interrupts_and_reports_nothing(errors: Any) -> None:
    errors.on_wait = lambda: True
    with pytest.raises(StoppedWhileRetryingError):
        errors(retry_timeout=None).execute(TRANSFORMATION, CONSUMED, later(1))
    assert errors.reported == []


def test_figures(errors: Any) -> None:
    operator = errors(retry_timeout=1.0)
    operator.execute(TRANSFORMATION, CONSUMED, later(1))
    operator.execute(TRANSFORMATION, CONSUMED, later(9))
    operator.execute(TRANSFORMATION, CONSUMED, failing(DataError("x")))
    errors.metrics.report()
    assert errors.figures.pop("last-error-timestamp") > 1.7e12
    assert errors.figures == {
        "total-record-failures": 1 + 4 + 1,
        "total-record-errors": 2,
        "total-records-skipped": 2,
        "total-retries": 1 + 3,
    }
