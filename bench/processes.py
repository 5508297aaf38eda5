# SPDX-License-Identifier: Apache-2.0
"""Memory and CPU time of a process and all of its descendants."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

_MB = 1 << 20


@dataclass(slots=True)
class Usage:
    """Of a whole process tree: CPU seconds used in the block, the highest memory seen in it."""

    cpu_s: float = 0.0
    rss_mb: float = 0.0
    pss_mb: float = 0.0
    processes: int = 0


@contextmanager
def watched(pid: int, interval: float = 1.0) -> Iterator[Usage]:
    """Watch the tree of `pid` in a thread while the block runs; the usage is complete after it.

    PSS divides shared pages among those who share them (forked Python workers do); reading it is dear, so it is read
    once, at the end. Processes that end within the block count up to their last sample.
    """
    usage, cpu, over = Usage(), dict[int, float](), threading.Event()
    before = _cpu_seconds(pid)

    def sample() -> None:
        cpu.update(_cpu_seconds(pid))
        usage.rss_mb = max(usage.rss_mb, sum(_rss(process) for process in tree(pid)))
        usage.processes = max(usage.processes, len(cpu))

    def run() -> None:
        while not over.wait(interval):
            sample()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield usage
    finally:
        over.set()
        thread.join()
        sample()
        usage.pss_mb = sum(pss_mb(process) for process in tree(pid))
        usage.cpu_s = sum(seconds - before.get(process, 0.0) for process, seconds in cpu.items())


def tree(pid: int) -> list[psutil.Process]:
    """Return the process and all below it; none if it has ended."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _cpu_seconds(pid: int) -> dict[int, float]:
    used = {}
    for process in tree(pid):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        used[process.pid] = times.user + times.system
    return used


def _rss(process: psutil.Process) -> float:
    try:
        return process.memory_info().rss / _MB
    except psutil.Error:
        return 0.0


def pss_mb(process: psutil.Process) -> float:
    """Return the PSS of one process in MB; 0 if it has ended."""
    try:
        full = process.memory_full_info()
    except psutil.Error:
        return 0.0
    return getattr(full, "pss", full.uss) / _MB
