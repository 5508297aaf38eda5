# SPDX-License-Identifier: Apache-2.0
"""A process' directory for temporary files, and the removal of dead processes' directories and child processes.

The directory holds a file that its process keeps locked for as long as it lives, however it ends. With that lock
another process knows that the directory is not needed any more, nor processes started with its path in ``VARIABLE``.
"""

from __future__ import annotations

import fcntl
import logging
import os
import select
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from headrace.spark.process.machine import this_machine

log = logging.getLogger(__name__)
VARIABLE: Final = "HEADRACE_RUNTIME_DIRECTORY"
"""The environment variable with the directory that a process belongs to."""
_PREFIX: Final = "headrace-"
_OWNER: Final = "owner"
_PROCESSES: Final = Path("/proc")
_KILL_TIMEOUT_S: Final = 5.0


class RuntimeDirectory:
    """A new directory that only this user may enter, whatever the umask; ``remove`` it at the end."""

    def __init__(self, parent: Path | None = None) -> None:
        """``parent`` is the system's temporary directory by default. OSError, leaving nothing, if the disk is full."""
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        try:
            self.path.chmod(0o700)
            self._lock: int | None = _make_lock_file(self.path)
        except OSError:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.remove()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def remove_others(self) -> None:
        """Remove dead processes' directories beside this one, in the background."""
        threading.Thread(target=remove_leftovers, args=(self.path.parent,), name="leftovers", daemon=True).start()


def scratch_directories(places: str) -> list[RuntimeDirectory]:
    """Make a directory in each of the places, separated by commas; none if one is unusable, which Spark reports."""
    made: list[RuntimeDirectory] = []
    try:
        for place in filter(None, map(str.strip, places.split(","))):
            _make_directory(Path(place))
            made.append(RuntimeDirectory(Path(place)))
    except OSError:
        for directory in made:
            directory.remove()
        return []
    return made


def private(path: str, flags: int) -> int:
    """Open a file that this user alone may read, whatever the umask; for ``open(opener=)``."""
    return os.open(path, flags, 0o600)


def _make_directory(directory: Path) -> None:
    """Make missing directories for this user alone: others with write access could replace the worker's by theirs."""
    if not directory.is_dir():
        _make_directory(directory.parent)
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)


def remove_leftovers(parent: Path) -> None:
    """Remove the directories in ``parent`` whose processes are dead, after what these have left running.

    Another user's directories are not touched, nor those whose owner is uncertain.
    """
    for directory in parent.glob(f"{_PREFIX}*"):
        with _locked_if_dead(directory) as dead:
            if dead:
                ended = _end_processes(directory)
                shutil.rmtree(directory, ignore_errors=True)
                log.info("Removed %s, and ended %d processes, of a worker that was killed", directory, ended)


def _make_lock_file(directory: Path) -> int:
    """Make the lock file, named only once it is locked, and return a descriptor that holds the lock."""
    new = directory / f".{_OWNER}"
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, f"process {os.getpid()} on {this_machine()}\n".encode())
    with suppress(OSError):  # a file system without locks, on which nothing can be proved
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        new.rename(directory / _OWNER)
    return descriptor


@contextmanager
def _locked_if_dead(directory: Path) -> Iterator[bool]:
    """Yield True if the directory's process is dead; within the block no other process gets True."""
    try:
        descriptor = _open_lock_file(directory)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        dead = os.path.samestat(os.fstat(descriptor), (directory / _OWNER).lstat())
    except OSError:
        yield False
    else:
        yield dead
    finally:
        os.close(descriptor)


def _open_lock_file(directory: Path) -> int:
    """Open the lock file. OSError unless the directory is this user's, and no other could have put the file there."""
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != 0o700:
        raise PermissionError(f"{directory} belongs to another user")
    return os.open(directory / _OWNER, os.O_RDWR | os.O_NOFOLLOW)


def _end_processes(directory: Path) -> int:
    """Kill the processes that belong to the directory, and wait for their ends. Only if there is ``/proc``."""
    ended = [process for pid in _pids() if (process := _kill(pid, directory)) is not None]
    poll = select.poll()
    for process in ended:
        poll.register(process, select.POLLIN)
    for process in ended:
        poll.poll(_KILL_TIMEOUT_S * 1000)
        poll.unregister(process)
        os.close(process)
    return len(ended)


def _pids() -> list[int]:
    try:
        return [int(entry.name) for entry in _PROCESSES.iterdir() if entry.name.isdecimal()]
    except OSError:
        return []


def _kill(pid: int, directory: Path) -> int | None:
    """Kill a process and return its descriptor; None if it does not belong to the directory."""
    if pid == os.getpid() or not _belongs(pid, directory):
        return None
    with suppress(OSError, AttributeError):  # AttributeError: a system without descriptors of processes
        process = os.pidfd_open(pid)
        # From here on the descriptor means one process; before, the number could have become another one's.
        if _belongs(pid, directory):
            signal.pidfd_send_signal(process, signal.SIGKILL)
            return process
        os.close(process)
    return None


def _belongs(pid: int, directory: Path) -> bool:
    try:
        environment = (_PROCESSES / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # gone, or another user's
        return False
    ours = f"{VARIABLE}={directory}".encode()
    # A connector's own JVM has a directory within the worker's.
    return any(variable == ours or variable.startswith(ours + b"/") for variable in environment)
