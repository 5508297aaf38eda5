# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging
import os
import threading

import pytest

from headrace.logs.printed import PrintedLines, log_pipe
from tests.support.polling import wait_for
from tests.unit.clock import Clock


def texts(lines: PrintedLines, *data: bytes) -> list[str]:
    return [line.text for each in data for line in lines.take(each)]


def test_lines_are_put_together_and_blank_ones_left_out() -> None:
    lines = PrintedLines()
    assert texts(lines, b"one\ntw", b"o\r\n\n  \n\xc3", b"\xa9\n\xff\nbegun") == ["one", "two", "é", "�"]
    assert lines.pending
    assert [line.text for line in lines.close()] == ["begun"]
    assert not lines.pending


def test_a_line_without_an_end_is_logged_in_pieces_and_when_nothing_follows() -> None:
    lines = PrintedLines()
    assert [len(text) for text in texts(lines, b"x" * 20_000)] == [8192, 8192, 3616]
    assert texts(lines, b"password: ") == []
    assert [line.text for line in lines.idle()] == ["password:"]
    assert not lines.idle()


@pytest.mark.parametrize(
    "line, level",
    [
        (b"ERROR a.b.Plugin - lost", logging.ERROR),
        (b"WARN a.b.Plugin - low on disk", logging.WARNING),
        (b"TRACE a.b.Plugin - x", logging.DEBUG),
        (b"WARN: low on disk", logging.INFO),
        (b"a line - with WARN a.b.Plugin - within", logging.INFO),
    ],
)
def test_lines_that_java_logs_have_their_level(line: bytes, level: int) -> None:
    (printed,) = PrintedLines().take(line + b"\n")
    assert (printed.level, printed.text) == (level, line.decode())


def test_what_exceeds_a_minutes_share_is_dropped_and_reported() -> None:
    clock = Clock()
    lines = PrintedLines(10, clock)
    taken = [*lines.take(b"1234\n678"), *lines.take(b"9\n0\nbcd\n"), *lines.take(b"efg\nh")]
    assert [(line.level, line.text) for line in taken] == [
        (logging.INFO, "1234"),
        (logging.INFO, "6789"),
        (logging.WARNING, "more than 10 bytes in a minute: the rest is dropped"),
    ]
    assert lines.pending
    assert not lines.idle()
    clock.now += 60
    assert [line.text for line in lines.idle()] == ["3 lines (11 bytes) were dropped"]
    assert texts(lines, b"again\n") == ["again"]


def test_a_pipe_is_logged_until_it_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reading, writing = os.pipe()

    def printed() -> list[str]:
        return [text for text in caplog.messages if text.startswith("printed: ")]

    thread = threading.Thread(target=log_pipe, args=(reading,))
    thread.start()
    os.write(writing, b"first\nno end")
    wait_for(lambda: printed() == ["printed: first", "printed: no end"], 10, lambda: str(caplog.messages))
    os.write(writing, b"last")
    os.close(writing)
    thread.join(10)
    assert printed()[2:] == ["printed: last"]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reading)
