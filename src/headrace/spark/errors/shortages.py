# SPDX-License-Identifier: Apache-2.0
"""What is said where a worker lacks space for temporary files, or may open too few files: of what, and what to do."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

_SAID: Final = ("No space left on device", "Disk quota exceeded")
_LITTLE: Final = 8 << 20
"""Bytes that Spark's own files and libraries need more than."""
_FEW: Final = 512
"""Files that a JVM of Spark's needs more than, a hundred of them for its libraries alone."""


def with_remedy(text: str, places: Iterable[Path]) -> str:
    """``text``, and if it speaks of a full disk, where that is and that it goes on once there is space."""
    if not speaks_of_it(text):
        return text
    full = nearly_full(places)
    if not full:
        return text
    return (
        f"{text}: no space is left in {' and '.join(map(str, full))}, which has the worker's temporary files; free some"
    )


def with_limit(text: str) -> str:
    """Why Spark did not start; and if this process and those below it may open few files, that."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY or limit >= _FEW:
        return text
    return (
        f"{text}: this worker may have {limit} files open (ulimit -n), and Spark needs more than {_FEW}; start it with "
        f"more, or give them to this one: prlimit --pid {os.getpid()} --nofile=4096:"
    )


def speaks_of_it(text: str) -> bool:
    """Whether an error's text, of Python's or Java's, is of a full disk."""
    return any(said in text for said in _SAID)


def nearly_full(places: Iterable[Path]) -> Sequence[Path]:
    """Those of the directories whose disk has next to no space."""
    return [place for place in places if _free(place) < _LITTLE]


def _free(place: Path) -> float:
    try:
        disk = os.statvfs(place)
    except OSError:  # of a directory that is not there nothing is known
        return float("inf")
    return disk.f_bavail * disk.f_frsize
