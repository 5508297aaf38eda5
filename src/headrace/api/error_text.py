# SPDX-License-Identifier: Apache-2.0
"""Safe text of errors for statuses, logs and REST answers.

Plugins raise errors whose ``__str__`` fails, whose text is 100 MB long or holds half of a surrogate pair, which no
encoder takes. All functions here return at most ``LONGEST`` characters that can be encoded, and never raise.
"""

from __future__ import annotations

import traceback
from collections import deque
from typing import Final

LONGEST: Final = 32_768
"""Characters; at six bytes each, the most that JSON takes, a record stays far below the 1 MB limit of topics."""
_LONGEST_PART: Final = 8_192
"""Characters of one part of a trace: of a frame, or of the text of one error in the chain."""
_LONGEST_NAME: Final = 200


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


def error_trace(error: BaseException) -> str:
    """Return the stack trace, causes first; if it is too long, the middle is left out."""
    try:
        return _trace(error)
    except BaseException as failure:
        return f"{error_line(error)}\n<its stack trace cannot be made: {error_name(failure)}>\n"


def clean_text(text: str, longest: int = LONGEST) -> str:
    """Return ``text`` in a form that can be encoded; if it is too long, the middle is left out."""
    # str's own methods: a subclass may override them, and must not be sent on to another process.
    size = str.__len__(text)
    if size > longest:
        text = str.__getitem__(text, slice(longest // 2)) + _left_out(size - longest) + text[size - longest // 2 :]
    return str.encode(text, "utf-8", "backslashreplace").decode()


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
    left_out = size - sum(map(len, head)) - tail_size
    return "".join([*head, f"{_left_out(left_out)}\n" if left_out else "", *tail])


def _left_out(characters: int) -> str:
    return f" ... ({characters} characters left out) ... "
