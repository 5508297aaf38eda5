# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import ConnectError
from headrace.connectors.common.incremental_columns import IncrementalColumn, Kind
from headrace.connectors.common.incremental_rows import IncrementalRows

ID = IncrementalColumn("incrementing", "id", Kind.INTEGER)
TIME = IncrementalColumn("timestamp", "t", Kind.LOCAL)


def batch(times: list[int], ids: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"t": pa.array(times, pa.timestamp("us")), "id": ids})


def taken(rows: IncrementalRows, wanted: int, complete: bool) -> list[Any] | None:
    table = rows.take(wanted, complete=complete)
    return None if table is None else table.column("id").to_pylist()


def test_rows_wait_until_it_is_known_where_to_cut() -> None:
    rows = IncrementalRows([ID])
    assert taken(rows, 2, False) is None
    rows.add(batch([1, 1], [1, 2]))
    assert taken(rows, 2, False) is None
    rows.add(batch([1], [3]))
    assert taken(rows, 2, False) == [1, 2]
    assert rows.waiting == 1
    assert taken(rows, 2, True) == [3]


def test_rows_of_one_position_stay_together() -> None:
    rows = IncrementalRows([TIME])
    rows.add(batch([1, 1, 1, 2], [1, 2, 3, 4]))
    # More than are wanted; but to cut them would lose the third one, or double the first.
    assert taken(rows, 2, False) == [1, 2, 3]
    rows.add(batch([2, 2], [5, 6]))
    assert taken(rows, 2, False) is None
    assert taken(rows, 2, True) == [4, 5, 6]


def test_rows_of_a_position_that_is_not_complete_are_never_taken() -> None:
    rows = IncrementalRows([TIME])
    rows.add(batch([5, 5, 5], [1, 2, 3]))
    assert taken(rows, 1, False) is None
    assert rows.waiting == rows.received == 3


def test_the_position_is_that_of_the_last_row() -> None:
    rows = IncrementalRows([TIME, ID])
    rows.add(batch([1, 1, 2], [7, 8, 1]))
    first = rows.take(2, complete=True)
    assert first is not None
    assert rows.position(first) == {"timestamp": "1970-01-01T00:00:00.000001", "incrementing": 8}


def test_rows_without_positions_are_cut_anywhere() -> None:
    rows = IncrementalRows([])
    rows.add(batch([1, 1, 1], [1, 2, 3]))
    assert taken(rows, 2, False) == [1, 2]
    assert taken(rows, 2, True) == [3]


@pytest.mark.parametrize(("times", "ids"), [([1, 1], [2, 1]), ([2, 1], [1, 2]), ([1, 2, 2], [5, 7, 6])])
def test_rows_that_are_out_of_order_are_refused(times: list[int], ids: list[int]) -> None:
    rows = IncrementalRows([TIME, ID])
    rows.add(batch(times, ids))
    with pytest.raises(ConnectError, match="did not come in the order"):
        rows.take(9, complete=True)


def test_rows_that_are_out_of_order_between_batches_are_refused() -> None:
    rows = IncrementalRows([ID])
    rows.add(batch([1, 1, 1], [1, 2, 3]))
    assert taken(rows, 2, False) == [1, 2]
    rows.add(batch([1, 1], [2, 4]))
    with pytest.raises(ConnectError, match="did not come in the order"):
        rows.take(2, complete=False)


def test_the_order_of_text_is_the_databases() -> None:
    rows = IncrementalRows([IncrementalColumn("incrementing", "name", Kind.TEXT)])
    rows.add(pa.RecordBatch.from_pydict({"name": ["a", "B", "c"]}))
    assert rows.take(9, complete=True) is not None


def test_text_that_a_database_may_take_for_the_same_stays_together() -> None:
    rows = IncrementalRows([IncrementalColumn("incrementing", "name", Kind.TEXT)])
    names = ["a", "A ", "\u00e1", "Stra\u00dfe", "STRASSE", "z"]
    rows.add(pa.RecordBatch.from_pydict({"name": names}))
    parts = []
    while (table := rows.take(1, complete=True)) is not None:
        parts.append(table.column("name").to_pylist())
    assert parts == [names[:3], names[3:5], names[5:]]


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=40),
    st.lists(st.integers(1, 5), min_size=1, max_size=20),
    st.integers(1, 8),
)
def test_whatever_comes_is_taken_once_in_order_and_cut_between_positions(
    positions: list[tuple[int, int]], sizes: list[int], wanted: int
) -> None:
    positions.sort()
    rows, seen = IncrementalRows([TIME, ID]), []
    left = list(positions)
    while left or rows.waiting:
        size = sizes[len(left) % len(sizes)]
        if left:
            rows.add(batch([t for t, _ in left[:size]], [i for _, i in left[:size]]))
            del left[:size]
        while (table := rows.take(wanted, complete=not left)) is not None:
            part = list(
                zip(table.column("t").cast(pa.int64()).to_pylist(), table.column("id").to_pylist(), strict=True)
            )
            assert not seen or seen[-1] < part[0]
            seen += part
    assert seen == positions
