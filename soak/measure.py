# SPDX-License-Identifier: Apache-2.0
"""What a worker's processes hold now: memory, threads, descriptors, files. On Linux."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import httpx2
import psutil

from bench.processes import pss_mb, tree
from soak.growth import Limit
from tests.support.processes import name_of
from tests.support.worker_process import WorkerProcess

LIMITS: Final = (
    Limit("worker_rss", "MB", 0.05, 8.0),
    Limit("worker_threads", "", 0.05, 3),
    Limit("worker_fds", "", 0.05, 3),
    Limit("worker_sockets", "", 0.05, 3),
    Limit("worker_log_per_event", "bytes", 0.5, 500),
    Limit("metric_series", "", 0.02, 10),
    Limit("jvm_heap", "MB", 0.05, 4.0),
    Limit("jvm_rss", "MB", 0.05, 16.0),
    Limit("jvm_threads", "", 0.05, 3),
    Limit("jvm_fds", "", 0.05, 3),
    Limit("tree_pss", "MB", 0.05, 24.0),
    Limit("tree_threads", "", 0.05, 5),
    Limit("tree_fds", "", 0.05, 8),
    Limit("tree_sockets", "", 0.05, 5),
    Limit("processes", "", 0.0, 1),
    Limit("temporary_files", "", 0.05, 3),
    Limit("temporary_bytes", "kB", 0.05, 256),
    Limit("directories", "", 0.0, 0.5),
)
"""Of the worker that is spared, its JVM and its tree of processes; `directories` are those of all workers."""
_JCMD: Final = shutil.which("jcmd")
MEASURABLE: Final = tuple(limit for limit in LIMITS if _JCMD or limit.name != "jvm_heap")
"""What can be measured here: a JVM's live heap only with a JDK."""
_MB: Final = 1 << 20
_TOTAL: Final = re.compile(r"^Total +\d+ +(\d+)", re.MULTILINE)
_JCMD_S: Final = 20.0


class NotNowError(Exception):
    """The worker stands still, or does not answer."""


def load_of(worker: WorkerProcess) -> tuple[int, int]:
    """Return how many connectors and tasks the worker has, by its own word."""
    try:
        answer = worker.rest.get("/connectors?expand=status", timeout=5)
    except httpx2.HTTPError as error:
        raise NotNowError(str(error)) from None
    if answer.status_code != 200:
        raise NotNowError(f"{answer.status_code} from the worker")
    statuses = [one["status"] for one in answer.json().values()]
    own = [one["connector"]["worker_id"].endswith(f":{worker.port}") for one in statuses]
    tasks = [task for one in statuses for task in one["tasks"] if task["worker_id"].endswith(f":{worker.port}")]
    return sum(own), len(tasks)


def measured(worker: WorkerProcess, temporary: Path) -> dict[str, float]:
    """Return each quantity but those of several workers, and those that need an earlier sample.

    Raises:
        NotNowError: the worker stands still, or something of it ended meanwhile.
    """
    processes = tree(worker.pid)  # with those that have ended and are not waited for: they can leak, too
    try:
        if any(process.status() == psutil.STATUS_STOPPED for process in processes):
            raise NotNowError("something stands still")
        jvm = min((one for one in processes if "java" in name_of(one)), key=psutil.Process.create_time)
        found = {
            **_of_processes("worker", processes[:1]),
            **_of_processes("jvm", [jvm]),
            **_of_processes("tree", processes),
            "worker_rss": processes[0].memory_info().rss / _MB,
            "jvm_rss": jvm.memory_info().rss / _MB,
            "tree_pss": sum(map(pss_mb, processes)),
            "processes": float(len(processes)),
            **_of_files(temporary),
        }
    except (psutil.Error, OSError, ValueError) as error:
        raise NotNowError(str(error)) from None
    heap = live_heap_mb(jvm.pid)
    return found if heap is None else {**found, "jvm_heap": heap}


def _of_processes(name: str, processes: Iterable[psutil.Process]) -> dict[str, float]:
    threads = fds = sockets = 0
    for process in processes:
        threads += process.num_threads()
        links = _descriptors(process.pid)
        fds += len(links)
        sockets += sum(link.startswith("socket:") for link in links)
    return {f"{name}_threads": threads, f"{name}_fds": fds, f"{name}_sockets": sockets}


def _descriptors(pid: int) -> list[str]:
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(os.readlink(entry))
    return found


def _of_files(directory: Path) -> dict[str, float]:
    """Logs are left out: they grow with each event up to a bound of their own, and begin again."""
    sizes = []
    for path in directory.rglob("*"):
        with suppress(FileNotFoundError):
            if not path.is_dir() and ".log" not in path.name and "console" not in path.name:
                sizes.append(path.lstat().st_size)
    return {"temporary_files": len(sizes), "temporary_bytes": sum(sizes) / 1024}


def live_heap_mb(pid: int) -> float | None:
    """Return what a JVM's heap holds after a full collection; None if it does not say."""
    with suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run(
            [_JCMD or "jcmd", str(pid), "GC.class_histogram"],
            capture_output=True,
            text=True,
            timeout=_JCMD_S,
            check=True,
        )
        if total := _TOTAL.search(answer.stdout):
            return int(total[1]) / _MB
    return None
