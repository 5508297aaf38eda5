# SPDX-License-Identifier: Apache-2.0
"""What a sink holds back, and when it is to be written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.api.errors import DataError
from headrace.api.sink import TopicPartition
from headrace.connectors.spark_sink.batch_buffer import BatchBuffer, Rotation, Run
from tests.unit.clock import Clock

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def table(first: int, count: int = 1, value: Any = "x", type: pa.DataType | None = None) -> pa.Table:
    return pa.table(
        {"value": pa.array([value] * count, type), "offset": pa.array(range(first, first + count), pa.int64())}
    )


def ranges(runs: list[Run]) -> list[tuple[int, int, int]]:
    return [(run.where.partition, run.first, run.last) for run in runs]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def buffer(clock: Clock) -> BatchBuffer:
    buffer = BatchBuffer(Rotation(10, 60.0, 1 << 20), clock)
    buffer.begin(A, 0)
    buffer.begin(B, 0)
    return buffer


def test_enough_records_are_a_batch(buffer: BatchBuffer) -> None:
    buffer.add(A, [table(0, 9)])
    assert buffer.due() == []
    buffer.add(A, [table(9, 3)])
    buffer.add(B, [table(0)])
    assert ranges(buffer.due()) == [(0, 0, 11)]
    (run,) = buffer.due()
    assert run.table.column("offset").to_pylist() == list(range(12))
    buffer.written(run)
    assert buffer.due() == []
    assert (buffer.first(A), buffer.first(B)) == (None, 0)


def test_what_is_old_is_a_batch_however_small(buffer: BatchBuffer, clock: Clock) -> None:
    assert buffer.seconds_left() is None
    buffer.add(A, [table(0)])
    clock.now += 20
    buffer.add(B, [table(0)])
    buffer.add(A, [table(1)])
    assert buffer.seconds_left() == 40
    clock.now += 39.5
    assert buffer.due() == []
    clock.now += 0.5
    assert ranges(buffer.due()) == [(0, 0, 1)]
    clock.now += 50
    assert buffer.seconds_left() == 0
    assert ranges(buffer.due()) == [(0, 0, 1), (1, 0, 0)]


def test_the_largest_go_first_when_memory_is_short(clock: Clock) -> None:
    buffer = BatchBuffer(Rotation(1000, 60.0, 1000), clock)
    for where, size in ((A, 300), (B, 600)):
        buffer.begin(where, 0)
        buffer.add(where, [table(0, value="x" * size)])
    assert buffer.due() == []
    buffer.add(A, [table(1, value="x" * 200)])
    assert ranges(buffer.due()) == [(1, 0, 0)]


def test_what_is_here_or_written_is_left_out(buffer: BatchBuffer) -> None:
    buffer.begin(A, 5)
    buffer.add(A, [table(3, 4)])
    assert buffer.first(A) == 5
    # The same batch is put again, and some more.
    buffer.add(A, [table(3, 4)])
    buffer.add(A, [table(6, 6)])
    assert ranges(buffer.due()) == []
    buffer.add(A, [table(10, 6)])
    assert ranges(buffer.due()) == [(0, 5, 15)]
    assert buffer.due()[0].rows == 11


def of(offsets: list[int], value: Any = "x") -> pa.Table:
    return pa.table({"value": pa.array([value] * len(offsets)), "offset": pa.array(offsets, pa.int64())})


def test_records_of_one_origin_stay_together(clock: Clock) -> None:
    """A transformation may make several records of one: whatever makes a batch due never parts them."""
    buffer = BatchBuffer(Rotation(3, 60.0, 10), clock)
    buffer.begin(A, 0)
    buffer.add(A, [of([3, 4, 4]), of([4, 4, 5, 5])])
    buffer.add(A, [of([4, 5, 6])])
    (run,) = buffer.due()
    assert run.table.column("offset").to_pylist() == [3, 4, 4, 4, 4, 5, 5, 6]
    # What turns out to be written is so as a whole, and so is what does not.
    buffer.begin(A, 5)
    (run,) = buffer.due()
    assert run.table.column("offset").to_pylist() == [5, 5, 6]


def test_records_of_one_origin_have_to_go_together(buffer: BatchBuffer) -> None:
    """Of two batches that share an offset, a crash between them would lose the second."""
    with pytest.raises(DataError, match=r"The record at offset 5 of t-0 has become records of different schemas"):
        buffer.add(A, [of([4, 5]), of([5], value=1)])
    # The first one alone is not written either: its successor begins at the offset that is committed.
    assert buffer.first(A) == 4


def test_columns_of_other_types_begin_another_batch(buffer: BatchBuffer) -> None:
    buffer.add(A, [table(0), table(1, 2, None, pa.null()), table(3), table(4, value=7), table(5)])
    assert ranges(buffer.due()) == [(0, 0, 3), (0, 4, 4)]
    first = buffer.due()[0].table
    assert first.schema.field("value").type == pa.string()
    assert first.column("value").to_pylist() == ["x", None, None, "x"]


def test_nulls_go_with_one_type_only(buffer: BatchBuffer) -> None:
    buffer.add(A, [table(0, 1, None, pa.null()), table(1), table(2, 1, None, pa.null()), table(3, value=7)])
    assert ranges(buffer.due()) == [(0, 0, 2)]


def test_what_turns_out_to_be_written_is_dropped(buffer: BatchBuffer) -> None:
    buffer.add(A, [table(0, 4), table(4, 2, value=1)])
    buffer.begin(A, 3)
    assert ranges(buffer.due()) == [(0, 3, 3)]
    buffer.begin(A, 6)
    assert buffer.first(A) is None
    assert buffer.partitions() == frozenset()
    buffer.add(A, [table(4, 3)])
    assert buffer.first(A) == 6


def test_a_target_that_knows_less_does_not_bring_records_back(buffer: BatchBuffer) -> None:
    buffer.add(A, [table(0, 4)])
    buffer.begin(A, 0)
    buffer.add(A, [table(2, 4)])
    assert buffer._runs[A][0].table.column("offset").to_pylist() == [0, 1, 2, 3, 4, 5]


def test_partitions_that_go_are_forgotten(buffer: BatchBuffer) -> None:
    buffer.add(A, [table(5)])
    buffer.add(B, [table(5)])
    buffer.forget([A])
    assert buffer.partitions() == {B}
    buffer.begin(A, 0)
    buffer.add(A, [table(2)])
    assert buffer.first(A) == 2
