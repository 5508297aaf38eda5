# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
import re

import pytest

from headrace.connectors.file_stream.line_splitter import LineSplitter


def taken(splitter: LineSplitter, limit: int = 1000) -> list[tuple[str, int]]:
    lines = splitter.take(limit)
    return [] if lines is None else list(zip(lines.values.to_pylist(), lines.positions.tolist(), strict=True))


def reference(data: bytes, start: int = 0) -> list[tuple[str, int]]:
    """The same by a regular expression, a line at a time; a carriage return that is last ends nothing."""
    ends = re.compile(rb"\r\n|\n|\r(?=.)", re.DOTALL)
    found, begin = [], 0
    for match in ends.finditer(data):
        found.append((data[begin : match.start()].decode("utf-8", "replace"), start + match.end()))
        begin = match.end()
    return found


def test_lines_end_at_each_of_the_three_terminators() -> None:
    splitter = LineSplitter()
    splitter.feed(b"a\nbc\r\nd\re\n\n\r\n\rx")
    assert taken(splitter) == [("a", 2), ("bc", 6), ("d", 8), ("e", 10), ("", 11), ("", 13), ("", 14)]
    assert splitter.position == 14
    assert splitter.pending == 1


def test_a_last_line_waits_for_its_end_however_long() -> None:
    splitter = LineSplitter()
    for _ in range(50):
        splitter.feed(b"x" * 10_000)
        assert splitter.take(10) is None
    splitter.feed(b"y\nz")
    assert taken(splitter) == [("x" * 500_000 + "y", 500_002)]
    splitter.feed(b"\n")
    assert taken(splitter) == [("z", 500_004)]


def test_a_carriage_return_at_the_end_waits_for_the_next_byte() -> None:
    splitter = LineSplitter()
    splitter.feed(b"a\r")
    assert taken(splitter) == []
    splitter.feed(b"\nb\r")
    assert taken(splitter) == [("a", 3)]
    splitter.feed(b"c\n")
    assert taken(splitter) == [("b", 5), ("c", 7)]


def test_positions_count_bytes_from_where_the_stream_begins() -> None:
    splitter = LineSplitter(1000)
    splitter.feed("é€\n😀\r\n".encode())
    assert taken(splitter) == [("é€", 1006), ("😀", 1012)]


def test_what_is_no_utf8_becomes_replacement_characters() -> None:
    splitter = LineSplitter()
    splitter.feed(b"ok\n\xff\xfe!\n\xc3\n\xe2\x82\nfine \xc3\xa9\n")
    assert [text for text, _ in taken(splitter)] == ["ok", "\ufffd\ufffd!", "\ufffd", "\ufffd", "fine é"]


def test_a_character_cut_by_a_chunk_is_whole_again() -> None:
    splitter = LineSplitter()
    for byte in "a€b\n".encode():
        splitter.feed(bytes([byte]))
    assert taken(splitter) == [("a€b", 6)]


def test_take_gives_no_more_than_the_limit() -> None:
    splitter = LineSplitter()
    splitter.feed(b"1\n2\n3\n4\n5\n")
    assert splitter.lines == 5
    assert [taken(splitter, 2) for _ in range(4)] == [[("1", 2), ("2", 4)], [("3", 6), ("4", 8)], [("5", 10)], []]


def test_the_unfinished_line_is_taken_when_its_end_will_never_come() -> None:
    splitter = LineSplitter(10)
    splitter.feed(b"a\nlast")
    assert taken(splitter) == [("a", 12)]
    lines = splitter.take_unfinished()
    assert lines is not None
    assert (lines.values.to_pylist(), lines.positions.tolist()) == (["last"], [16])
    assert splitter.take_unfinished() is None


def test_an_unfinished_line_loses_the_carriage_return_that_waited_for_more() -> None:
    splitter = LineSplitter()
    splitter.feed(b"a\nlast\r")
    assert taken(splitter) == [("a", 2)]
    lines = splitter.take_unfinished()
    assert lines is not None
    assert (lines.values.to_pylist(), lines.positions.tolist()) == (["last"], [7])


@pytest.mark.parametrize("seed", range(30))
def test_no_way_of_cutting_the_stream_changes_the_lines(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = [b"\n", b"\r", b"\r\n", b"a", b"bc", "é".encode(), b"\xff", b"long " * 20]
    data = b"".join(rng.choices(alphabet, k=400))
    splitter, found, at = LineSplitter(7), [], 0
    while at < len(data):
        size = rng.randint(1, 60)
        splitter.feed(data[at : at + size])
        at += size
        found += taken(splitter, rng.randint(1, 10)) if rng.random() < 0.7 else []
    found += taken(splitter)
    assert found == reference(data, 7)
