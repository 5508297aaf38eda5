# SPDX-License-Identifier: Apache-2.0
"""Texts of Spark's errors, available even if the JVM that raised them is dead or hangs, and the remedy for shortages.

Shortages are a full disk of the worker, and too few files that it may open.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_TIMEOUT_S: Final = 3.0
"""Seconds that a JVM has to return an error's text."""
_CALL: Final = "An error occurred while calling"
_DISK_FULL_TEXTS: Final = ("No space left on device", "Disk quota exceeded")
_MIN_FREE_BYTES: Final = 8 << 20
"""Free bytes below which a disk counts as full for Spark's own files and libraries."""
_MIN_FILES: Final = 512
"""Open files that do not suffice for Spark's JVM: its libraries alone take a hundred."""


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


def with_remedy(text: str, places: Iterable[Path]) -> str:
    """Return ``text``; if it reports a full disk, with the full directories and the remedy."""
    if not is_disk_full(text):
        return text
    full = nearly_full(places)
    if not full:
        return text
    return (
        f"{text}: no space is left in {' and '.join(map(str, full))}, which has the worker's temporary files; free some"
    )


def with_limit(text: str) -> str:
    """Return ``text``, the reason why Spark did not start; if this process may open few files, with that limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY or limit >= _MIN_FILES:
        return text
    return (
        f"{text}: this worker may have {limit} files open (ulimit -n), and Spark needs more than {_MIN_FILES}; start "
        f"it with more, or give them to this one: prlimit --pid {os.getpid()} --nofile=4096:"
    )


def is_disk_full(text: str) -> bool:
    """Return True if an error's text, Python's or Java's, reports a full disk."""
    return any(said in text for said in _DISK_FULL_TEXTS)


def nearly_full(places: Iterable[Path]) -> Sequence[Path]:
    """Return those of the directories whose disk has next to no space."""
    return [place for place in places if _free(place) < _MIN_FREE_BYTES]


def _free(place: Path) -> float:
    try:
        disk = os.statvfs(place)
    except OSError:  # the directory does not exist
        return float("inf")
    return disk.f_bavail * disk.f_frsize
