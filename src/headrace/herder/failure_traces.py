# SPDX-License-Identifier: Apache-2.0
"""Traces of FAILED statuses, of headrace's and of Java's workers: whether a restart can help."""

from __future__ import annotations

import re
from typing import Final

_STACK: Final = re.compile(r"^(?:Traceback \(most recent call last\):$|\s+at \S)", re.MULTILINE)
"""A line that begins Python's stacks, and one of Java's."""
_OTHER_ERROR: Final = "During handling of the above exception, another exception occurred:"
"""Precedes an error whose cause is not the one before it."""
_MISTAKE: Final = re.compile(
    r"^(?:Caused by: )?(?:headrace\.api\.errors\.ConfigError|org\.apache\.kafka\.common\.config\.ConfigException)\b",
    re.MULTILINE,
)


def is_mistake(trace: str | None) -> bool:
    """Return True if the failure is a mistake in a configuration, or a refusal: a restart would repeat it.

    Workers of headrace write such an error's message without a stack (``worker.stages.trace_of``). In a stack, of Java
    too, it may be the error itself or one of its causes. A status without a trace tells nothing.
    """
    if not trace:
        return False
    return _STACK.search(trace) is None or _MISTAKE.search(trace.rpartition(_OTHER_ERROR)[2]) is not None
