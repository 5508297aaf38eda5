# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import ConnectError
from headrace.connectors.spark_files.file_ledger import Begun, FileLedger, FoundFile
from headrace.connectors.spark_files.file_splits import FileSplits, NextFile

HOUR = 3_600_000


def file(modified: int, name: str = "a.csv", size: int = 10) -> FoundFile:
    return FoundFile(modified, f"file:/in/{name}", size)


def completed(ledger: FileLedger, *files: FoundFile, window: int = HOUR, most: int = 100) -> FileLedger:
    for each in files:
        ledger = ledger.completed(each, window, most)
    return ledger


def test_files_are_read_in_the_order_of_modification_then_name() -> None:
    found = [file(2, "a"), file(1, "c"), file(1, "b")]
    assert FileLedger().pending(found) == [file(1, "b"), file(1, "c"), file(2, "a")]


def test_a_completed_file_is_not_read_again_but_a_changed_one_is_another() -> None:
    ledger = completed(FileLedger(), file(5))
    assert ledger.pending([file(5)]) == []
    assert ledger.pending([file(6), file(5, size=11)]) == [file(5, size=11), file(6)]
    assert ledger.is_completed(file(5))
    assert not ledger.is_completed(file(6))


def test_a_late_file_is_read_within_the_window_and_not_beyond() -> None:
    ledger = completed(FileLedger(), file(1000, "a"), file(3000, "b"), window=1000)
    assert ledger.watermark == 1000
    assert ledger.pending([file(999, "late"), file(1000, "a"), file(2000, "c")]) == [file(2000, "c")]


def test_no_more_than_so_many_files_are_remembered_but_for_those_of_the_latest_moment() -> None:
    ledger = completed(FileLedger(), file(1, "a"), file(2, "b"), file(3, "c"), most=2)
    assert (ledger.watermark, sorted(ledger.done)) == (1, [2, 3])
    many = completed(FileLedger(), *(file(7, f"{number}") for number in range(5)), most=2)
    assert many.watermark is None
    assert many.pending([file(7, "0"), file(7, "9")]) == [file(7, "9")]


def test_an_offset_says_all_of_it() -> None:
    ledger = FileLedger(4, {5: ["x", "y"]}, Begun(file(6, "b.csv", 99), 700), '[["id", "bigint"]]')
    offset = ledger.offset()
    assert {name: value for name, value in offset.items() if name != "done"} == {
        "watermark": 4,
        "file": "file:/in/b.csv",
        "modified": 6,
        "size": 99,
        "row": 700,
        "schema": '[["id", "bigint"]]',
    }
    assert FileLedger.of(json.loads(json.dumps(offset))) == ledger
    assert FileLedger.of(FileLedger().offset()) == FileLedger()
    assert FileLedger.of(None) == FileLedger()


@pytest.mark.parametrize(
    "offset",
    [{"rows": 1}, {"row": "1"}, {"file": "a", "row": -1}, {"done": "yes"}, {"done": "[]"}, {"watermark": 1.5}],
)
def test_an_offset_that_says_something_else_is_refused(offset: dict[str, Any]) -> None:
    with pytest.raises(ConnectError, match="Offset field"):
        FileLedger.of(offset)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 3)), unique=True), st.integers(0, 40), st.integers(1, 9))
def test_files_that_come_in_order_are_read_once_each_whatever_is_remembered(
    files: list[tuple[int, int]], window: int, most: int
) -> None:
    found = [file(modified, str(name)) for modified, name in sorted(files)]
    ledger, read = FileLedger(), []
    for count in range(1, len(found) + 1):
        # Each time another one has come, and the task began anew.
        for each in FileLedger.of(ledger.offset()).pending(found[:count]):
            read.append(each)
            ledger = ledger.completed(each, window, most)
    assert read == found


def splits(**ledgers: FileLedger) -> FileSplits:
    numbered = {int(name.removeprefix("s")): ledger for name, ledger in ledgers.items()}
    return FileSplits("/in", 1 if len(numbered) == 1 else 2, numbered, HOUR, 100)


def test_a_file_is_gone_on_with_where_it_was_left() -> None:
    ours = splits(s0=FileLedger(begun=Begun(file(5, "b"), 70)))
    ours.found([file(1, "a"), file(5, "b")], 10)
    assert ours.next() == NextFile(0, file(5, "b"), 70)


def test_the_lag_is_the_files_that_are_not_read_to_their_end() -> None:
    ours = splits(s0=FileLedger(), s1=FileLedger())
    assert ours.lag() == {"/in 0/2": 0, "/in 1/2": 0}
    found = [file(1, str(number)) for number in range(9)]
    ours.found(found, 10)
    second = sum(each.split(2) for each in found)
    assert ours.lag() == {"/in 0/2": 9 - second, "/in 1/2": second} and 0 < second < 9
    first = ours.next()
    assert first is not None and first.split == 0
    ours.read(first, 3, finished=False, schema=None)
    assert ours.lag()["/in 0/2"] == 9 - second
    ours.read(first, 9, finished=True, schema=None)
    assert ours.lag() == {"/in 0/2": 8 - second, "/in 1/2": second}
    assert splits(s0=FileLedger()).lag() == {"/in": 0}


def test_a_file_that_is_gone_in_the_middle_is_reported() -> None:
    ours = splits(s0=FileLedger(begun=Begun(file(5, "b"), 70)))
    with pytest.raises(ConnectError, match="/in/b is gone, after its first 70 rows"):
        ours.found([file(1, "a")], 10)


def test_a_file_that_still_changes_waits() -> None:
    ours = splits(s0=FileLedger())
    ours.found([file(5, "a"), file(11, "b")], 10)
    assert ours.next() == NextFile(0, file(5, "a"), 0)
    ours.read(NextFile(0, file(5, "a"), 0), 3, finished=True, schema=None)
    assert ours.next() is None


def test_the_offset_of_a_read_goes_from_begun_to_completed() -> None:
    ours = splits(s0=FileLedger())
    ours.found([file(5, "a")], 10)
    first = ours.next()
    assert first is not None
    offset = ours.read(first, 3, finished=False, schema="[]")
    assert (offset["file"], offset["row"], offset["schema"]) == ("file:/in/a", 3, "[]")
    assert ours.next() == NextFile(0, file(5, "a"), 3)
    offset = ours.read(first, 5, finished=True, schema="[]")
    assert "file" not in offset
    assert FileLedger.of(offset).is_completed(file(5, "a"))
    assert ours.next() is None


def test_each_file_is_of_one_split_for_ever() -> None:
    found = [file(1, str(number)) for number in range(20)]
    parts = []
    for number in (0, 1):
        ours = FileSplits("/in", 2, {number: FileLedger()}, HOUR, 100)
        ours.found(found, 10)
        while (next_file := ours.next()) is not None:
            parts.append(next_file.file)
            ours.read(next_file, 1, finished=True, schema=None)
    assert sorted(parts) == sorted(found)
    assert {each.split(2) for each in found} == {0, 1}
    # As stored offsets rely on it.
    assert FoundFile(1, "file:/in/a.csv", 1).split(16) == 10
