# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pickle

import pytest

from headrace.api.error_text import (
    LONGEST,
    clean_text,
    error_line,
    error_text,
    error_trace,
    hide_at_cuts,
    set_trace,
)


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")

    __repr__ = __str__


class NoText(Exception):
    def __str__(self) -> str:
        return 1  # type: ignore[return-value]


class Text(str):
    __slots__ = ()

    def encode(self, *args: str) -> bytes:  # type: ignore[override]
        raise ValueError("not to be encoded")


class Dressed(Exception):
    def __str__(self) -> str:
        return Text("dressed")


def raised(error: BaseException) -> BaseException:
    with pytest.raises(type(error)) as info:
        raise error
    return info.value


def test_the_text_of_an_error_is_its_own() -> None:
    assert error_text(ValueError("no number")) == "no number"
    assert error_line(ValueError("no number")) == "ValueError: no number"


def test_an_error_that_cannot_say_anything_is_named() -> None:
    assert error_text(Mute()) == "<Mute, whose text cannot be made: SystemExit>"
    assert error_text(NoText()) == "<NoText, whose text cannot be made: TypeError>"
    assert "Mute" in error_trace(raised(Mute()))


def test_what_cannot_be_encoded_is_escaped() -> None:
    assert error_text(ValueError("half \ud83d")) == r"half \ud83d"
    json.dumps(error_trace(raised(ValueError("half \ud83d"))), ensure_ascii=False).encode()


def test_a_text_is_no_class_of_a_plugin() -> None:
    assert type(error_text(Dressed())) is str
    assert b"Text" not in pickle.dumps(error_text(Dressed()))


def test_a_long_text_keeps_both_ends() -> None:
    text = error_text(ValueError("begin" + "x" * 1_000_000 + "end"))
    assert len(text) < LONGEST + 100
    assert text.startswith("begin") and text.endswith("end")
    assert "characters left out" in text
    assert clean_text("short") == "short"


def test_a_trace_says_where_and_what() -> None:
    error = raised(ValueError("no number"))
    assert error_trace(error).startswith("Traceback (most recent call last):\n")
    assert "in raised" in error_trace(error)
    assert error_trace(error).endswith("ValueError: no number\n")


def test_a_long_trace_keeps_the_error_that_counts() -> None:
    error: BaseException = ValueError("first " + "x" * 1_000_000)
    for number in range(200):
        follower = RuntimeError(f"number {number} " + "y" * 10_000)
        follower.__cause__ = error
        error = follower
    trace = error_trace(error)
    assert len(trace) < LONGEST + 200
    assert "first" in trace and "number 199" in trace
    assert "characters left out" in trace


def test_all_errors_of_a_group_are_reported() -> None:
    trace = error_trace(BaseExceptionGroup("both", [SystemExit(1), Mute()]))
    assert "both" in trace and "SystemExit: 1" in trace


SECRETS = {"correct-horse": "[1]", "horse-battery": "[2]"}
MARK = " ... (7 characters left out) ... "


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"with corr{MARK}tery, no", f"with [1]{MARK}[2], no"),
        (f"correct-horse{MARK}horse", f"[1]{MARK}[1]"),  # not the start of the other one
        (f"cor{MARK}rse", f"cor{MARK}rse"),
        ("with correct-h… (99 characters)", "with [1]… (99 characters)"),
        ("with correct-h… (99 more)", "with [1]… (99 more)"),
        (f"corr{MARK}orse-batterycorr{MARK}", f"[1]{MARK}[2][1]{MARK}"),
        ("uncorr, tery", "uncorr, tery"),
        ("", ""),
    ],
)
def test_what_is_left_of_secrets_at_cuts_is_hidden(text: str, hidden: str) -> None:
    assert hide_at_cuts(text, SECRETS) == hidden


def test_a_given_trace_takes_the_place_of_pythons() -> None:
    error = raised(ValueError("no"))
    set_trace(error, "java.lang.Exception: no\n\tat A.b(A.java:1)")
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert error_trace(each) == "java.lang.Exception: no\n\tat A.b(A.java:1)"
    with pytest.raises(KeyError) as caught:
        raise KeyError("outer") from error
    assert error_trace(caught.value) == "KeyError: 'outer'\nCaused by: java.lang.Exception: no\n\tat A.b(A.java:1)"


def test_a_circle_of_causes_and_a_long_trace_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert "ValueError: one" in error_trace(one)
    set_trace(other, "x" * (2 * LONGEST))
    assert len(error_trace(one)) < LONGEST + 100
