# SPDX-License-Identifier: Apache-2.0
"""Messages for a worker whose disk is full, or that may open too few files, with the remedy."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

_DISK_FULL_TEXTS: Final = ("No space left on device", "Disk quota exceeded")
_MIN_FREE_BYTES: Final = 8 << 20
"""Free bytes below which a disk counts as full for Spark's own files and libraries."""
_MIN_FILES: Final = 512
"""Open files that do not suffice for Spark's JVM: its libraries alone take a hundred."""


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
