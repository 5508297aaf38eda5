# SPDX-License-Identifier: Apache-2.0
"""Safe text of errors for statuses, logs and REST answers.

Plugins raise errors whose ``__str__`` fails, whose text is 100 MB long or holds half of a surrogate pair, which no
encoder takes. All functions here return at most ``LONGEST`` characters that can be encoded, and never raise.
"""

from __future__ import annotations

import re
import traceback
from collections import deque
from collections.abc import Mapping
from typing import Final

LONGEST: Final = 32_768
"""Characters; at six bytes each, the most that JSON takes, a record stays far below the 1 MB limit of topics."""
_LONGEST_PART: Final = 8_192
"""Characters of one part of a trace: of a frame, or of the text of one error in the chain."""
_LONGEST_NAME: Final = 200
_CUT: Final = re.compile(r"( \.\.\. \(\d+ characters left out\) \.\.\. |… \(\d+ (?:characters|more)\))")
"""The mark in place of what was left out of a text: of the middle, or of the end."""
_LONGEST_CHAIN: Final = 20
"""Errors, each the cause of the one before: a chain may be a circle."""
_TRACE: Final = "_headrace_trace"
_SHORTEST_FRAGMENT: Final = 4
"""Characters; a shorter part of a secret is in any text."""


def error_text(error: object) -> str:
    """Return ``str(error)``, which may be empty; a note about the failure if that raises."""
    try:
        return clean_text(str(error))
    except BaseException as failure:
        return f"<{error_name(error)}, whose text cannot be made: {error_name(failure)}>"


def error_name(error: object) -> str:
    """Return the name of the error's class, ``ValueError``."""
    try:
        return clean_text(type(error).__name__, _LONGEST_NAME)
    except BaseException:
        return "an error"


def error_line(error: object) -> str:
    """Return an error with its type: ``ValueError: no number``."""
    text = error_text(error)
    return clean_text(f"{error_name(error)}: {text}")


def set_trace(error: BaseException, trace: str) -> None:
    """Have ``error_trace`` return ``trace``, that of another language or process, instead of this process's.

    It is a note of the error, too, for traces that Python itself makes.
    """
    error.add_note(trace)
    vars(error)[_TRACE] = trace  # copies and pickled errors have it, too


def error_trace(error: BaseException) -> str:
    """Return the stack trace, causes first; if it is too long, the middle is left out.

    If the error, or one that caused it, has a trace by ``set_trace``, it is that one, after those that it caused.
    """
    try:
        given = _given_trace(error)
        return _trace(error) if given is None else clean_text(given)
    except BaseException as failure:
        return f"{error_line(error)}\n<its stack trace cannot be made: {error_name(failure)}>\n"


def clean_text(text: str, longest: int = LONGEST) -> str:
    """Return ``text`` in a form that can be encoded; if it is too long, the middle is left out."""
    # str's own methods: a subclass may override them, and must not be sent on to another process.
    size = str.__len__(text)
    if size > longest:
        text = str.__getitem__(text, slice(longest // 2)) + left_out(size - longest) + text[size - longest // 2 :]
    return str.encode(text, "utf-8", "backslashreplace").decode()


def hide_at_cuts(text: str, shown: Mapping[str, str]) -> str:
    """Return ``text`` with the parts of secrets replaced that were left of them at its cuts.

    ``shown`` has the replacement for each secret. Whole secrets elsewhere stay: to be called before these are replaced.
    """
    pieces = _CUT.split(text)
    for at in range(1, len(pieces), 2):
        pieces[at - 1] = _without_end(pieces[at - 1], shown)
        pieces[at + 1] = _without_start(pieces[at + 1], shown)
    return "".join(pieces)


def _without_end(text: str, shown: Mapping[str, str]) -> str:
    """Return ``text`` without the beginning of a secret at its end: of the one that has most of it."""
    found = ((size, each) for each in shown for size in _sizes(each, text) if text.endswith(each[:size]))
    size, secret = max(found, default=(0, ""))
    return text[: len(text) - size] + shown[secret] if size else text


def _without_start(text: str, shown: Mapping[str, str]) -> str:
    """Return ``text`` without the end of a secret at its start: of the one that has most of it."""
    found = ((size, each) for each in shown for size in _sizes(each, text) if text.startswith(each[-size:]))
    size, secret = max(found, default=(0, ""))
    return shown[secret] + text[size:] if size else text


def _sizes(secret: str, text: str) -> range:
    return range(_SHORTEST_FRAGMENT, min(len(secret), len(text)) + 1)


def left_out(characters: int) -> str:
    """Return the mark for characters that are left out of a text."""
    return f" ... ({characters} characters left out) ... "


def _given_trace(error: BaseException) -> str | None:
    caused: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(caused) < _LONGEST_CHAIN:
        if (given := vars(cause).get(_TRACE)) is not None:
            return "\nCaused by: ".join([*caused, given])
        caused.append(error_line(cause))
        cause = cause.__cause__
    return None


def _trace(error: BaseException) -> str:
    # In parts: the whole trace could exceed the memory.
    head, tail, tail_size, size = [], deque[str](), 0, 0
    for whole in traceback.TracebackException.from_exception(error).format():
        part = clean_text(whole, _LONGEST_PART)
        size += len(part)
        if size <= LONGEST // 2:
            head.append(part)
            continue
        tail.append(part)
        tail_size += len(part)
        while tail_size > LONGEST // 2:
            tail_size -= len(tail.popleft())
    missing = size - sum(map(len, head)) - tail_size
    return "".join([*head, f"{left_out(missing)}\n" if missing else "", *tail])
