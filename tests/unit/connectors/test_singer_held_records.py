# SPDX-License-Identifier: Apache-2.0
"""Records wait for the STATE that covers them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.connectors.singer.held_records import HeldRecords, HoldLimits, source_partition

PARTITION = source_partition("tap-x", "*")


def record(number: int) -> SourceRecord:
    return SourceRecord(None, None, "t", value=number)


def held(records: int = 3, size: int = 1000, strict: bool = False, state: str | None = "0") -> HeldRecords:
    return HeldRecords(PARTITION, state, HoldLimits(records, size, strict))


def taken(records: HeldRecords) -> list[tuple[Any, Any, bool]]:
    """Each record's value, its state, and if a transaction can end after it."""
    released = records.take()
    ends = {id(end) for end in released.ends}
    return [(each.value, (each.source_offset or {}).get("state"), id(each) in ends) for each in released.records]


def test_records_are_released_by_the_state_that_covers_them() -> None:
    records = held()
    for number in (1, 2):
        records.add(record(number), 1)
    assert taken(records) == []
    records.cover("2")
    records.cover("2b")
    records.add(record(3), 1)
    assert taken(records) == [(1, "0", False), (2, "2", True)]
    assert (records.waiting, records.state) == (1, "2b")
    records.cover("3")
    assert taken(records) == [(3, "3", True)]


def test_before_the_first_state_there_is_no_offset() -> None:
    records = held(state=None)
    records.add(record(1), 1)
    records.release_all()
    [only] = records.take().records
    assert (only.source_partition, only.source_offset) == (None, None)


@pytest.mark.parametrize("size", [1, 400])
def test_too_many_are_released_before_their_state_but_for_the_last(size: int) -> None:
    records = held(2 if size == 1 else 100)
    for number in (1, 2, 3, 4):
        records.add(record(number), size)
    assert [value for value, _, _ in taken(records)] == [1, 2] if size == 400 else [1, 2, 3]
    assert records.uncovered
    records.cover("4")
    assert (taken(records)[-1], records.uncovered) == ((4, "4", True), False)


def test_too_many_are_an_error_where_that_would_not_be_exact() -> None:
    records = held(2, strict=True)
    records.add(record(1), 1)
    records.add(record(2), 1)
    with pytest.raises(ConnectError, match="3 records, of 3 bytes, without a STATE: increase"):
        records.add(record(3), 1)


@given(st.lists(st.integers(1, 6)), st.integers(1, 4), st.integers(0, 5))
def test_what_is_committed_covers_all_that_was_released_and_nothing_else(
    batches: list[int], most: int, rest: int
) -> None:
    """A crash after any record: with transactions that end at `ends`, the state is that of the last visible record."""
    records, number, log = held(most), 0, []
    for batch in [*batches, rest]:
        for _ in range(batch):
            number += 1
            records.add(record(number), 1)
            log += taken(records)
        if number <= sum(batches) and batch:
            records.cover(str(number))
            log += taken(records)
    assert [value for value, _, _ in log] == list(range(1, len(log) + 1))
    for value, state, end in log:
        assert int(state) <= value
        assert (int(state) == value) == end
    assert len(log) >= sum(batches)
