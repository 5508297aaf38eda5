# SPDX-License-Identifier: Apache-2.0
"""Runs one command, and ends it with everything below it when the process that asked for it is gone.

Run as a script, without headrace: ``python -I -S guard.py LIFELINE GRACE DIRECTORY COMMAND…``. The lifeline is a file
descriptor of a socket pair: its end means that the other side has closed it or has died, by whatever signal. Then the
command's process group gets SIGTERM, after GRACE seconds SIGKILL. DIRECTORY is removed in the end.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_NOT_STARTED = 127
_LOOK_SECONDS = 5.0


def main() -> int:
    """Run the command, and return its exit code; 128 and the signal's number where one has ended it."""
    lifeline, grace, directory, command = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:]
    os.set_inheritable(lifeline, False)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    woken = _wakeups()
    pid = _start(command)
    # The reader of the command's output has to see its end.
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    code = _wait(pid, lifeline, woken, None)
    if code is None:
        _signal_group(pid, signal.SIGTERM)
        code = _wait(pid, lifeline, woken, time.monotonic() + grace)
    _signal_group(pid, signal.SIGKILL)
    _end_the_rest()
    if directory:
        import shutil

        shutil.rmtree(directory, ignore_errors=True)
    return 128 + signal.SIGKILL if code is None else code


def _wakeups() -> int:
    """Return a file descriptor that can be read when a child has ended."""
    readable, writable = os.pipe()
    for end in (readable, writable):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writable)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return readable


def _start(command: list[str]) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]} cannot be run: {error.strerror}\n".encode())
    finally:
        os._exit(_NOT_STARTED)


def _wait(pid: int, lifeline: int, woken: int, deadline: float | None) -> int | None:
    """Return the exit code; None at the end of the lifeline, or, where there is a deadline, at that."""
    while True:
        code = _reaped(pid)
        if code is not None:
            return code
        left = _LOOK_SECONDS if deadline is None else min(_LOOK_SECONDS, deadline - time.monotonic())
        if left <= 0:
            return None
        watched = [woken] if deadline is not None else [woken, lifeline]
        readable = select.select(watched, [], [], left)[0]
        if lifeline in readable:
            return None
        if woken in readable:
            with suppress(BlockingIOError):
                os.read(woken, 4096)


def _reaped(pid: int) -> int | None:
    """Reap all children that have ended; return the code of ``pid`` if it is one of them."""
    code = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == pid:
                code = os.waitstatus_to_exitcode(ended[1])
                code = 128 - code if code < 0 else code
    return code


def _end_the_rest() -> None:
    """Kill what has left the process group: on Linux it becomes a child of this process when its parent ends."""
    with suppress(ChildProcessError):
        while True:
            for child in _children():
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listed:
            return [int(pid) for pid in listed.read().split()]
    except OSError:
        return []


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
