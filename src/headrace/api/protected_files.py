# SPDX-License-Identifier: Apache-2.0
"""The files of a worker that no connector may write: those by which what is written would become code, or settings.

What they are is the same for all that runs in a process, so it is kept per process: the runtime says it once, in the
worker and in each task's process, before it asks for plugins. May be used from any thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError

_FILE: Final = "file"
_protected: frozenset[str] = frozenset()


def protect(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Let nothing be written to these files, nor to anything within these directories, from now on in this process."""
    global _protected
    _protected |= {os.path.abspath(path) for path in paths}


def protected() -> frozenset[str]:
    """All that is protected, as absolute paths."""
    return _protected


def ensure_writable(name: str, path: str, *, uri: bool = False) -> None:
    """ConfigError, for the property `name`, if `path` is protected as things are now, symbolic links followed.

    It need not exist. With `uri` it is a path as Spark understands it; what is not on this machine passes.
    """
    reason = why_not_writable(path, uri=uri)
    if reason is not None:
        raise ConfigError.invalid(name, path, reason)


def why_not_writable(path: str, *, uri: bool = False) -> str | None:
    """The reason for which `ensure_writable` would raise; None if there is none."""
    local = _local_path(path) if uri else path
    place = _place_of(local) if local else None
    if not local or place is None:
        return None
    return f"{os.path.realpath(local)} belongs to the worker ({place}), and no connector may write there"


def _local_path(uri: str) -> str | None:
    scheme, colon, rest = uri.partition(":")
    if not colon or "/" in scheme:
        return uri
    # Not decoded: for Hadoop a path with %2e in it is that.
    if scheme.lower() != _FILE:
        return None
    return rest if not rest.startswith("//") else f"/{rest[2:].partition('/')[2]}"


def _place_of(path: str) -> str | None:
    """The protected file or directory that it is, or is within."""
    real = Path(os.path.realpath(path))
    within = {str(place) for place in (real, *real.parents)}
    # A directory that is mounted twice, or whose name has other letters, is known by its inode.
    inodes = {inode for place in within if (inode := _inode(place)) is not None}
    for place in sorted(_protected):
        if os.path.realpath(place) in within or _inode(place) in inodes:
            return place
    return None


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
