# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.spark.channel.messages import FrameFault
from headrace.spark.errors.error_texts import first_line, text_of
from headrace.spark.errors.frame_errors import fault_of


class JavaError(Exception):
    """As Py4J's: its text is a question to a JVM."""

    def __init__(self, answer: Any, errmsg: str = "An error occurred while calling o1.collect.\n") -> None:
        self.answer = answer
        self.errmsg = errmsg
        self.java_exception = self

    def __str__(self) -> str:
        return str(self.answer())

    def getMessage(self) -> str:
        return str(self)

    getClass = getCause = getMessage


class SilentError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def dead() -> str:
    raise ConnectionRefusedError


NOT_ASKED = "JavaError: Spark's JVM could not be asked what went wrong"


def test_a_jvm_that_lives_is_asked() -> None:
    error = JavaError(lambda: "An error occurred while calling o1.collect.\n: java.io.IOException: no disk\n\tat x")
    assert first_line(error) == "java.io.IOException: no disk"


def test_a_dead_jvm_raises_nothing() -> None:
    assert first_line(JavaError(dead)) == NOT_ASKED
    assert text_of(JavaError(dead, "it was reported before")) == "it was reported before"


def test_a_jvm_that_stands_still_blocks_no_request() -> None:
    over = threading.Event()
    try:
        assert text_of(JavaError(lambda: over.wait(30)), timeout=0.05) == NOT_ASKED
    finally:
        over.set()


@pytest.mark.parametrize(
    ("error", "text"),
    [(OSError(28, "No space left on device"), "[Errno 28] No space left on device"), (ValueError(), "ValueError"),
     (SilentError(), "SilentError")],
)  # fmt: skip
def test_errors_of_python(error: Exception, text: str) -> None:
    assert text_of(error) == text


def test_a_frame_job_whose_jvm_is_dead_is_tried_again() -> None:
    fault, text = fault_of(JavaError(dead))
    assert (fault, text) == (
        FrameFault.RETRIABLE,
        "Spark's JVM could not be asked what went wrong: ConnectionRefusedError",
    )
