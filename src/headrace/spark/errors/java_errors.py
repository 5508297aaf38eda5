# SPDX-License-Identifier: Apache-2.0
"""What errors of Spark's say, in words that can be had even if the JVM that raised them is dead or stands still."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

_PATIENCE: Final = 3.0
"""Seconds that a JVM gets to say what went wrong."""
_CALL: Final = "An error occurred while calling"


def text_of(error: BaseException, patience: float = _PATIENCE) -> str:
    """``str(error)``, or what else is known of it; never raises and never blocks for longer than ``patience``.

    The text of an error of Py4J's is a question to its JVM, asked whenever the text is wanted.
    """
    if not of_java(error):
        return _asked(error) or type(error).__name__
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(_asked(error)), name="java-error", daemon=True)
    asking.start()
    asking.join(patience)
    return next(filter(None, answers), "") or _known(error)


def first_line(error: BaseException) -> str:
    """The line of the error's text that says what happened; a Java error's first one only names a call."""
    lines = text_of(error).strip().splitlines() or [type(error).__name__]
    return lines[1].removeprefix(": ") if len(lines) > 1 and lines[1].startswith(": ") else lines[0]


def of_java(error: BaseException) -> bool:
    """Whether it was raised in the JVM, which may have to be asked for it."""
    return hasattr(error, "java_exception") or hasattr(error, "_origin")


def _asked(error: BaseException) -> str:
    with suppress(Exception):
        return str(error)
    return ""


def _known(error: BaseException) -> str:
    """What PySpark has asked for already, if it has."""
    known = str(getattr(error, "_desc", None) or getattr(error, "errmsg", None) or "").strip()
    if not known or known.startswith(_CALL):
        return f"{type(error).__name__}: Spark's JVM could not be asked what went wrong"
    return known
