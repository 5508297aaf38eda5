# SPDX-License-Identifier: Apache-2.0
"""The ring of log lines: what it keeps, and where a reader continues."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from headrace.logs.context import CONTEXT, log_context
from headrace.logs.log_ring import KeptLines, LogLine, LogRing
from headrace.model.ids import ConnectorTaskId

log = logging.getLogger("tests.log_ring")


@pytest.fixture
def ring() -> Iterator[LogRing]:
    ring = LogRing(10_000)
    ring.addFilter(CONTEXT)
    log.addHandler(ring)
    log.setLevel(logging.DEBUG)
    yield ring
    log.removeHandler(ring)


def everything(line: LogLine) -> bool:
    return True


def messages(kept: KeptLines) -> list[str]:
    return [line.message for line in kept.lines]


def test_lines_have_context_level_and_trace(ring: LogRing) -> None:
    with log_context(ConnectorTaskId("c", 1)):
        try:
            raise ValueError("bad")
        except ValueError:
            log.warning("failed %d", 1, exc_info=True)
    [line] = ring.newest(10, everything).lines
    assert (line.number, line.level, line.logger, line.context) == (1, "WARN", "tests.log_ring", "[c|task-1] ")
    assert line.message == "failed 1" and "ValueError: bad" in (line.trace or "")


def test_a_reader_continues_after_a_number(ring: LogRing) -> None:
    for n in range(5):
        log.info("%d", n)
    first = ring.newest(2, everything)
    assert messages(first) == ["3", "4"] and first.last == 5 and not first.gap
    assert ring.after(5, 10, everything) == KeptLines((), 5, gap=False)
    log.info("5")
    assert messages(ring.after(5, 10, everything)) == ["5"]
    part = ring.after(0, 2, everything)
    assert messages(part) == ["0", "1"] and part.last == 2


def test_lines_that_are_not_wanted_are_not_read_again(ring: LogRing) -> None:
    log.info("a")
    log.info("b")
    kept = ring.after(0, 10, lambda line: line.message == "a")
    assert messages(kept) == ["a"] and kept.last == 2


def test_the_oldest_lines_are_dropped(ring: LogRing) -> None:
    for n in range(100):
        log.info("%d %s", n, "x" * 1000)
    kept = ring.newest(1000, everything)
    assert 2 < len(kept.lines) < 10 and kept.lines[-1].message.startswith("99 ")
    assert ring.after(1, 1000, everything).gap
    assert not ring.after(kept.lines[0].number - 1, 1000, everything).gap


def test_a_line_larger_than_all_is_not_kept() -> None:
    ring = LogRing(0)
    ring.handle(logging.makeLogRecord({"name": "n", "msg": "x", "levelno": logging.INFO}))
    assert ring.newest(10, everything) == KeptLines((), 1, gap=False)
    assert ring.after(0, 10, everything).gap
