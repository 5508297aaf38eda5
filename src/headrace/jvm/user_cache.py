# SPDX-License-Identifier: Apache-2.0
"""The user's cache directory, and directories in it that are made once and atomically."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError

CACHE_VARIABLE: Final = "HEADRACE_CACHE_DIR"
JARS: Final = "jars"
"""The directory in the cache directory with a directory of jars for each resolution."""
_RANDOM: Final = "[a-z0-9_]" * 8
"""The characters that ``tempfile`` appends to a prefix."""


def cache_directory() -> Path:
    """Return `HEADRACE_CACHE_DIR`, else the platform's place, without making it.

    On Linux that is `headrace` in `XDG_CACHE_HOME` or `~/.cache`.
    """
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own).expanduser().absolute()
    # Executors of a cluster have the variable, and do not need the library.
    from platformdirs import user_cache_path

    return user_cache_path("headrace")


def make_once(directory: Path, build: Callable[[Path], None]) -> Path:
    """Return `directory`; where it is missing, fill it by `build(temporary directory)` first.

    It appears by a rename, so it is whole whenever it is there, and one process builds while others wait. What
    `build` raises goes to the caller, and nothing is left behind.

    Raises:
        ConfigError: the cache cannot be written. The message names the directory.
    """
    if directory.is_dir():
        return directory
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with locked(directory.parent / f".{directory.name}.lock"):
            if not directory.is_dir():
                _build(directory, build)
    except OSError as error:
        raise ConfigError(
            f"Cannot write the cache directory {directory.parent}: {error.strerror or error}. "
            f"Set {CACHE_VARIABLE} to a directory that can be written",
            CACHE_VARIABLE,
            str(directory.parent),
        ) from error
    return directory


def _build(directory: Path, build: Callable[[Path], None]) -> None:
    # What a process left that was killed meanwhile: no other process builds while we have the lock.
    for left in directory.parent.glob(f".{glob.escape(directory.name)}.{_RANDOM}"):
        shutil.rmtree(left, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        build(temporary)
        temporary.chmod(0o755)
        temporary.rename(directory)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, made if missing, against other processes; waits for it without limit."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
