# SPDX-License-Identifier: Apache-2.0
"""The files of a worker that no connector may write, since they are code or settings.

They are kept per process: the runtime registers them in the worker and in each task's process, before it loads plugins.
Thread-safe.
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
    """Protect these files, and everything within these directories, in this process from now on."""
    global _protected
    _protected |= {os.path.abspath(path) for path in paths}


def protected() -> frozenset[str]:
    """Return the protected files and directories, as absolute paths."""
    return _protected


def ensure_writable(name: str, path: str, *, uri: bool = False) -> None:
    """Raise ConfigError, for the property `name`, if `path` is protected, symbolic links followed.

    The path need not exist. With `uri` it is a path as Spark understands it; a path on another machine passes.
    """
    reason = write_refusal(path, uri=uri)
    if reason is not None:
        raise ConfigError.invalid(name, path, reason)


def write_refusal(path: str, *, uri: bool = False) -> str | None:
    """Return the reason for which `ensure_writable` would raise; None if the path may be written."""
    local = _local_path(path) if uri else path
    place = _place_of(local) if local else None
    if not local or place is None:
        return None
    return f"{os.path.realpath(local)} belongs to the worker ({place}), and no connector may write there"


def _local_path(uri: str) -> str | None:
    scheme, colon, rest = uri.partition(":")
    if not colon or "/" in scheme:
        return uri
    # Not decoded: Hadoop takes %2e in a path literally.
    if scheme.lower() != _FILE:
        return None
    return rest if not rest.startswith("//") else f"/{rest[2:].partition('/')[2]}"


def _place_of(path: str) -> str | None:
    """Return the protected file or directory that the path is, or lies in; None if there is none."""
    real = Path(os.path.realpath(path))
    within = {str(place) for place in (real, *real.parents)}
    # A directory that is mounted twice, or reached by a name in other case, is recognised by its inode.
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
