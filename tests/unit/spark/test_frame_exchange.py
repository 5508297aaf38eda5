# SPDX-License-Identifier: Apache-2.0
"""Executors, as threads over real sockets, and the task's process that takes each part of a result once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.api.errors import DataError, RetriableError
from headrace.spark.channel.endpoint import Link
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.spark.channel.messages import FrameJobEnded
from headrace.spark.process import frame_exchange
from headrace.spark.process.frame_ends import END_OF_DATA, Pull, Push, from_bytes, to_bytes
from headrace.spark.process.frame_exchange import FrameExchange, FrameResult
from tests.support.polling import wait_for

TABLE = pa.table({"n": [1, 2, 3]})
JOB = 7


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(numbers)})


def numbers(batches: list[pa.RecordBatch]) -> list[int]:
    return [n for each in batches for n in each.column("n").to_pylist()]


class Executor:
    """One attempt at one partition."""

    def __init__(self, exchange: FrameExchange, partition: int, attempt: int = 0) -> None:
        self._link: Link = exchange.endpoint.connect()
        self._link.send(Push(JOB, partition, attempt))

    def bring(self, *batches: pa.RecordBatch) -> Executor:
        for each in batches:
            self._link.send_bytes(to_bytes(each))
        return self

    def end(self) -> Executor:
        self._link.send_bytes(END_OF_DATA)
        return self

    def heard(self) -> bool:
        """Whether Spark may count its work as done."""
        try:
            return bool(self._link.recv_bytes())
        except (EOFError, OSError):
            return False

    def die(self) -> None:
        self._link.close()


@pytest.fixture
def exchange(tmp_path: Path) -> Iterator[FrameExchange]:
    made = FrameExchange(tmp_path / "frames.sock")
    yield made
    made.shut()


@pytest.fixture
def result(exchange: FrameExchange) -> FrameResult:
    made = FrameResult(TABLE, streamed=False)
    exchange.open(JOB, made)
    return made


@pytest.fixture
def streamed(exchange: FrameExchange) -> FrameResult:
    made = FrameResult(None, streamed=True)
    exchange.open(JOB, made)
    return made


def test_the_input_is_fetched_as_often_as_spark_likes(exchange: FrameExchange, result: FrameResult) -> None:
    for _ in range(2):
        link = exchange.endpoint.connect()
        link.send(Pull(JOB))
        got = []
        while data := link.recv_bytes():
            got += list(from_bytes(data))
        assert pa.Table.from_batches(got) == TABLE


def test_the_result_is_in_the_order_of_partitions(exchange: FrameExchange, result: FrameResult) -> None:
    for partition, given in ((1, batch(3)), (0, batch(1, 2))):
        assert Executor(exchange, partition, 30 + partition).bring(given).end().heard()
    assert numbers(result.delivered([30, 31])) == [1, 2, 3]


@pytest.mark.parametrize(("counted", "rows"), [(4, [1, 2]), (5, [10, 20])])
def test_of_two_attempts_that_one_is_taken_which_spark_counts(
    exchange: FrameExchange, result: FrameResult, counted: int, rows: list[int]
) -> None:
    slow = Executor(exchange, 0, 4).bring(batch(1))
    assert Executor(exchange, 0, 5).bring(batch(10, 20)).end().heard()
    assert slow.bring(batch(2)).end().heard()
    assert numbers(result.delivered([counted])) == rows


def test_an_attempt_that_dies_counts_for_nothing(exchange: FrameExchange, result: FrameResult) -> None:
    Executor(exchange, 0, 1).bring(batch(1)).die()
    with pytest.raises(RetriableError, match=r"partitions \[0\]"):
        result.delivered([1])
    assert Executor(exchange, 0, 2).bring(batch(5)).end().heard()
    assert numbers(result.delivered([2])) == [5]


def test_a_result_delivered_after_the_job_closed_is_refused(exchange: FrameExchange, result: FrameResult) -> None:
    exchange.close(JOB)
    with contextlib.suppress(OSError):
        assert not Executor(exchange, 0).bring(batch(1)).end().heard()


def test_a_stream_comes_in_order_while_it_is_delivered(exchange: FrameExchange, streamed: FrameResult) -> None:
    second = Executor(exchange, 1).bring(batch(3)).end()
    first = Executor(exchange, 0).bring(batch(1))
    batches = streamed.batches()
    assert numbers([next(batches)]) == [1]
    first.bring(batch(2)).end()
    assert numbers([next(batches), next(batches)]) == [2, 3]
    assert first.heard() and second.heard()
    streamed.on_job_ended(FrameJobEnded(JOB, (0, 1)))
    assert list(batches) == []


def test_what_is_not_taken_holds_the_executor_up(exchange: FrameExchange, streamed: FrameResult) -> None:
    large = batch(*range(50_000))
    brought = []
    executor = Executor(exchange, 0)

    def bring() -> None:
        for _ in range(8):
            executor.bring(large)
            brought.append(1)
        executor.end()

    thread = threading.Thread(target=bring, daemon=True)
    thread.start()
    batches = streamed.batches()
    next(batches)
    thread.join(0.3)
    assert thread.is_alive() and len(brought) < 8
    for _ in range(7):
        next(batches)
    assert executor.heard()


def test_a_stream_takes_a_partition_from_one_attempt_only(exchange: FrameExchange, streamed: FrameResult) -> None:
    first = Executor(exchange, 0).bring(batch(1))
    batches = streamed.batches()
    assert numbers([next(batches)]) == [1]
    other = Executor(exchange, 0).bring(batch(1), batch(2)).end()
    first.bring(batch(2)).end()
    assert first.heard() and other.heard()
    streamed.on_job_ended(FrameJobEnded(JOB, (0,)))
    assert numbers(list(batches)) == [2]


def test_a_stream_that_broke_before_it_began_goes_on_with_another_attempt(
    exchange: FrameExchange, streamed: FrameResult
) -> None:
    Executor(exchange, 0).die()
    other = Executor(exchange, 0).bring(batch(1)).end()
    assert numbers([next(streamed.batches())]) == [1]
    assert other.heard()


def test_a_stream_that_broke_in_the_middle_has_to_begin_again(exchange: FrameExchange, streamed: FrameResult) -> None:
    executor = Executor(exchange, 0).bring(batch(1))
    batches = streamed.batches()
    next(batches)
    executor.die()
    with pytest.raises(RetriableError, match="was lost"):
        next(batches)


def test_a_stream_without_its_next_partition_has_to_begin_again(
    exchange: FrameExchange, streamed: FrameResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that come after it have all the cores."""
    monkeypatch.setattr(frame_exchange, "_STALL_TIMEOUT_S", 0.5)
    first, second = Executor(exchange, 0).bring(batch(1)), Executor(exchange, 1).bring(batch(2)).end()
    batches = streamed.batches()
    next(batches)
    threading.Timer(1.0, lambda: first.bring(batch(1)).end()).start()
    assert numbers([next(batches), next(batches)]) == [1, 2], "slow is not lost"
    assert second.heard()
    Executor(exchange, 3).bring(batch(4)).end()
    with pytest.raises(RetriableError, match=r"no core was free for partition 2 of a frame job's result"):
        next(batches)


def test_no_client_without_the_key_gets_in(exchange: FrameExchange, result: FrameResult) -> None:
    from dataclasses import replace
    from multiprocessing import AuthenticationError

    with pytest.raises(AuthenticationError):
        replace(exchange.endpoint, authkey=b"guessed").connect()
    assert Executor(exchange, 0).bring(batch(1)).end().heard()


def test_to_leave_a_stream_turns_its_executors_away(exchange: FrameExchange, streamed: FrameResult) -> None:
    executor = Executor(exchange, 1).bring(batch(1)).end()
    exchange.close(JOB)
    wait_for(lambda: not executor.heard(), 10, "the executor to be turned away")


@pytest.mark.parametrize(
    ("limit", "excess"),
    [
        (ResultLimit(max_rows=3), "a task is larger than frame.job.result.max.rows=3"),
        (ResultLimit(max_bytes=500), "a task is larger than frame.job.result.max.bytes=500"),
    ],
)
def test_a_result_that_grows_too_large_is_broken_off(exchange: FrameExchange, limit: ResultLimit, excess: str) -> None:
    """All partitions together, none of which is complete."""
    result = FrameResult(TABLE, streamed=False, limit=limit)
    exchange.open(JOB, result)
    executors = [Executor(exchange, partition, partition).bring(batch(1, 2)) for partition in (0, 1)]
    with pytest.raises(DataError, match=excess):
        result.await_end()
    with contextlib.suppress(OSError):
        assert not all([executor.end().heard() for executor in executors])


def test_a_partition_counts_once_however_often_it_is_brought(exchange: FrameExchange) -> None:
    result = FrameResult(TABLE, streamed=False, limit=ResultLimit(max_rows=3))
    exchange.open(JOB, result)
    for attempt in (1, 2, 3):
        assert Executor(exchange, 0, attempt).bring(batch(1), batch(2)).end().heard()
    result.on_job_ended(FrameJobEnded(JOB, (2,)))
    assert result.await_end().attempts == (2,)
    assert numbers(result.delivered([2])) == [1, 2]


def test_a_stream_may_be_of_any_size(exchange: FrameExchange) -> None:
    result = FrameResult(None, streamed=True, limit=ResultLimit(max_rows=1))
    exchange.open(JOB, result)
    Executor(exchange, 0).bring(batch(1, 2)).end()
    assert numbers([next(result.batches())]) == [1, 2]
