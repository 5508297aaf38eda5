# SPDX-License-Identifier: Apache-2.0
"""Processes that may end while they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import psutil

from tests.support.polling import wait_for

T = TypeVar("T")


def alive(process: psutil.Process) -> bool:
    """Whether it runs, or stands still; one that has ended and was not waited for does not."""
    return process.is_running() and status_of(process) not in ("", psutil.STATUS_ZOMBIE)


def status_of(process: psutil.Process) -> str:
    """As psutil names it; empty once it has ended."""
    return _unless_ended(process.status, "")


def name_of(process: psutil.Process) -> str:
    return _unless_ended(process.name, "")


def command_of(process: psutil.Process) -> str:
    """Its command line, joined by blanks; empty once it has ended."""
    return " ".join(_unless_ended(process.cmdline, []))


def children_of(pid: int, recursive: bool = False) -> list[psutil.Process]:
    return _unless_ended(lambda: psutil.Process(pid).children(recursive=recursive), [])


def python_daemons(jvm: psutil.Process) -> list[psutil.Process]:
    """Spark's Python daemons below a JVM of it; their forks run the tasks."""
    return [child for child in children_of(jvm.pid) if "headrace.spark.process.daemon" in command_of(child)]


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """SIGKILL to those that are left, and wait for their ends."""
    for process in (left := list(processes)):
        _unless_ended(process.kill, None)
    wait_for(lambda: not any(map(alive, left)), 10, lambda: f"the ends of {left}")


def _unless_ended(ask: Callable[[], T], ended: T) -> T:
    try:
        return ask()
    except psutil.Error:
        return ended
