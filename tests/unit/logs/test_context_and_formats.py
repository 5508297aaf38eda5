# SPDX-License-Identifier: Apache-2.0
"""The context of a log line beside its message, and its format."""

from __future__ import annotations

import json
import logging
import sys
import threading
from typing import Any

import pytest

from headrace.logs import formats
from headrace.logs.context import ContextFilter, context_of, log_context, within
from headrace.logs.formats import JSON, TEXT, formatter, log_again, name_process
from headrace.model.ids import ConnectorTaskId

TASK = ConnectorTaskId("c d", 3)


def record(message: str, *args: Any, **more: Any) -> logging.LogRecord:
    made = logging.LogRecord("some.logger", logging.WARNING, "file", 1, message, args, None)
    made.__dict__.update(more)
    ContextFilter().filter(made)
    return made


def contexts_of(*records: logging.LogRecord) -> list[str]:
    return [each.connector_context for each in records]  # type: ignore[attr-defined]


def test_contexts_are_written_as_kafka_connect_writes_them() -> None:
    assert (context_of("c"), context_of(TASK)) == ("[c|worker] ", "[c d|task-3] ")


def test_a_context_lasts_as_long_as_its_block() -> None:
    before = record("x")
    with log_context("c"):
        outer = record("x")
        with log_context(TASK):
            inner = record("x")
        again = record("x")
    assert contexts_of(before, outer, inner, again, record("x")) == [
        "",
        "[c|worker] ",
        "[c d|task-3] ",
        "[c|worker] ",
        "",
    ]


def test_another_thread_has_the_context_that_it_is_given() -> None:
    seen: list[logging.LogRecord] = []
    with log_context("c"):
        for target in (lambda: seen.append(record("x")), within(TASK, lambda: seen.append(record("x")))):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    assert contexts_of(*seen) == ["", "[c d|task-3] "]


def test_a_record_may_say_itself_what_it_is_about() -> None:
    with log_context("c"):
        assert contexts_of(record("x", connector_context="[d|worker] ")) == ["[d|worker] "]


def test_text() -> None:
    with log_context("c"):
        line = formatter(TEXT).format(record("%d lines", 3))
    assert line.partition("] ")[2] == "WARNING [c|worker] 3 lines"


def test_the_name_of_a_process_is_in_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_process", "")
    name_process("A->B")
    with log_context("c"):
        line = formatter(TEXT).format(record("x", connector_context="[c|worker] "))
    assert line.partition("] ")[2] == "WARNING [A->B] [c|worker] x"
    assert json.loads(formatter(JSON).format(record("x")))["process"] == "A->B"


def test_json() -> None:
    with log_context(TASK):
        line = json.loads(formatter(JSON).format(record("%d\nlines “ü”", 3, created=1.5, threadName="t")))
    assert line == {
        "timestamp": "1970-01-01T00:00:01.500+00:00",
        "level": "WARNING",
        "logger": "some.logger",
        "thread": "t",
        "message": "3\nlines “ü”",
        "connector.context": "[c d|task-3]",
    }


def test_json_of_an_exception() -> None:
    try:
        raise ValueError("why")
    except ValueError:
        failed = record("failed", exc_info=sys.exc_info())
    line = json.loads(formatter(JSON).format(failed))
    assert line["message"] == "failed" and "connector.context" not in line
    assert line["exception"].startswith("Traceback") and line["exception"].endswith("ValueError: why")
    # A filter that has hidden something in it has formatted it before.
    assert json.loads(formatter(JSON).format(record("failed", exc_text="hidden")))["exception"] == "hidden"


@pytest.mark.parametrize("message", ["\ud800", "a\x00b\r\n\u2028"])
def test_json_of_any_text_is_one_line(message: str) -> None:
    text = formatter(JSON).format(record("%s", message))
    assert "\n" not in text and "message" in json.loads(text)


def test_a_text_line_forges_no_other() -> None:
    forged = "x\n[2026-01-01 00:00:00,000] INFO forged\r\x1b[2J\u2028\u202e\x85\x7f"
    with log_context("c\nd"):
        line = formatter(TEXT).format(record("%s is\ttold", forged))
    assert line.endswith(
        r"WARNING [c\nd|worker] x\n[2026-01-01 00:00:00,000] INFO forged\r\x1b[2J\u2028\u202e\x85\x7f is" + "\ttold"
    )


def test_a_trace_stays_legible_and_forges_no_line() -> None:
    trace = "Traceback (most recent call last):\n  File x\nValueError: a\n[2026] INFO forged\u2028[2026] \x1bforged"
    head, *below = formatter(TEXT).format(record("failed", exc_text=trace)).splitlines()
    assert head.endswith("WARNING failed")
    assert below == [
        "    Traceback (most recent call last):",
        "      File x",
        "    ValueError: a",
        "    [2026] INFO forged",
        r"    [2026] \x1bforged",
    ]


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")


@pytest.mark.parametrize("kind", [TEXT, JSON])
def test_a_line_that_cannot_be_made_is_there_all_the_same(kind: str) -> None:
    assert "'%s failed' (this line cannot be made: SystemExit: no text)" in formatter(kind).format(
        record("%s failed", Mute())
    )


@pytest.mark.parametrize("kind", [TEXT, JSON])
def test_a_line_is_of_limited_length(kind: str) -> None:
    line = formatter(kind).format(record("%s", "x" * 10_000_000, exc_text="y" * 10_000_000))
    assert len(line) < 100_000
    assert "characters left out" in line


def test_records_of_another_process_are_logged_with_their_trace(caplog: pytest.LogCaptureFixture) -> None:
    log_again("some.logger", logging.WARNING, "100% failed", "Traceback")
    log_again("some.logger", logging.DEBUG - 1, "unseen", None)
    assert [(each.getMessage(), each.exc_text) for each in caplog.records] == [("100% failed", "Traceback")]
