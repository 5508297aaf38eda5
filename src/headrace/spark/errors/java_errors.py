# SPDX-License-Identifier: Apache-2.0
"""Texts of Spark's errors, available even if the JVM that raised them is dead or hangs."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

_TIMEOUT_S: Final = 3.0
"""Seconds that a JVM has to return an error's text."""
_CALL: Final = "An error occurred while calling"


def text_of(error: BaseException, timeout: float = _TIMEOUT_S) -> str:
    """Return ``str(error)``, or what else is known of it; never raises, and blocks for ``timeout`` seconds at most.

    For an error of Py4J's, ``str`` is a call of its JVM each time.
    """
    if not of_java(error):
        return _text(error) or type(error).__name__
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(_text(error)), name="java-error", daemon=True)
    asking.start()
    asking.join(timeout)
    return next(filter(None, answers), "") or _text_without_jvm(error)


def first_line(error: BaseException) -> str:
    """Return the line of the error's text that says what happened; a Java error's first one only names a call."""
    lines = text_of(error).strip().splitlines() or [type(error).__name__]
    return lines[1].removeprefix(": ") if len(lines) > 1 and lines[1].startswith(": ") else lines[0]


def of_java(error: BaseException) -> bool:
    """Return True if it was raised in the JVM, which may have to be called for its text."""
    return hasattr(error, "java_exception") or hasattr(error, "_origin")


def _text(error: BaseException) -> str:
    with suppress(Exception):
        return str(error)
    return ""


def _text_without_jvm(error: BaseException) -> str:
    """Return the text that PySpark has fetched already, if it has."""
    known = str(getattr(error, "_desc", None) or getattr(error, "errmsg", None) or "").strip()
    if not known or known.startswith(_CALL):
        return f"{type(error).__name__}: Spark's JVM could not be asked what went wrong"
    return known
