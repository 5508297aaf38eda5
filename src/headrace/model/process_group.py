# SPDX-License-Identifier: Apache-2.0
"""The ends of processes: with all that they have started, with their parent, and not by signals to the worker.

SIGTERM and SIGINT of a worker reach the processes below it too: systemd sends SIGTERM to all processes of a service, a
terminal SIGINT to all of its group. The worker ends them itself, in its order: tasks could commit nothing any more
without their JVM, and the worker would start another one.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

GUARD: Final = "headrace-guard"
"""An argument of processes that end by themselves, with all below them, when the process that started them is gone."""
_PR_SET_CHILD_SUBREAPER: Final = 36
_UNTIL_GONE_S: Final = 5.0
"""Killed processes are gone within milliseconds, unless the system itself blocks them."""
_PR_SET_PDEATHSIG: Final = 1
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def take_orphans_in() -> None:
    """Have what descendants of this process leave behind become its children; without effect but on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_with_descendants(pid: int) -> None:
    """Kill a process and its descendants. Raise ProcessLookupError if it has ended.

    It is stopped first: so it starts no others, and its children's ids stay their own.
    """
    os.kill(pid, signal.SIGSTOP)
    kill_descendants(pid)
    os.kill(pid, signal.SIGKILL)


def kill_group(leader: int) -> None:
    """Kill a group's leader and group, and the leader's descendants wherever they are, until none is left.

    The leader last: it takes its descendants' orphans in, and its id, and that of the group, stay its own until it is
    waited for.
    """
    kill_descendants(leader)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def kill_descendants(ancestor: int) -> None:
    """Kill the descendants of a process, until none is left."""
    _kill_all(lambda: _descendants(ancestor))


def kill_marked(variable: str) -> None:
    """Kill the programs that were started with an environment variable, ``NAME=value``, until none is left.

    So programs are found whose ancestors have died. Only on Linux; of other users' processes nothing is seen.
    """
    _kill_all(lambda: _marked(variable.encode()))


def _kill_all(find: Callable[[], set[int]]) -> None:
    until = time.monotonic() + _UNTIL_GONE_S
    while (found := find()) and time.monotonic() < until:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _marked(variable: bytes) -> set[int]:
    """Return the processes with the variable, without guards and what is below them."""
    found, guarded = set(), set[int]()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # gone, or another user's
            if variable in environment.read_bytes().split(b"\0"):
                found.add(pid := int(environment.parent.name))
                guarded |= {pid, *_descendants(pid)} if _is_guard(pid) else set()
    return found - guarded - {os.getpid()}


def _descendants(ancestor: int) -> set[int]:
    """Return the living descendants of a process, as Linux lists them; nothing on other systems.

    Guards and what is below them are left out: they have files to remove, too.
    """
    children: dict[int, list[tuple[int, bool]]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = stat.read_text(errors="replace").rpartition(")")[2].split()[:2]
            children.setdefault(int(parent), []).append((int(stat.parent.name), state not in "ZX"))
    living, waiting = set(), [ancestor]
    while waiting:
        for pid, lives in children.get(waiting.pop(), ()):
            if _is_guard(pid):
                continue
            waiting.append(pid)
            if lives:
                living.add(pid)
    return living


def _is_guard(pid: int) -> bool:
    try:
        return GUARD.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def end_forks_with_this_process() -> None:
    """Have each process that this one forks from now on killed when this one ends; forks of forks are not affected.

    For a process of one thread: Linux takes the thread that forked for the parent.
    """
    if sys.platform != "linux":
        return
    tie_to_this_thread, tied = end_with_this_thread(), False

    def tie() -> None:
        nonlocal tied
        if tied:  # this is a fork of a fork
            return
        tied = True
        tie_to_this_thread()

    os.register_at_fork(after_in_child=tie)


def end_with_this_thread() -> Callable[[], None]:
    """Return a function for a child to call right after this thread has forked it, to be killed when this thread ends.

    The function does nothing if the system is not Linux.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the request
            os._exit(1)

    return tie


def ignore_stop_signals() -> None:
    """Ignore the signals, for a program that this process is about to become: a JVM leaves them ignored."""
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def block_stop_signals() -> None:
    """Block the signals in this process and its forks, whatever handlers PySpark installs in them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)


def outlive_stop_signals() -> None:
    """Handle the signals by doing nothing. On the main thread.

    Ignored or blocked ones would be so in programs that a task starts, which could not be terminated then.
    """
    for number in _STOP_SIGNALS:
        signal.signal(number, _do_nothing)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal."""
