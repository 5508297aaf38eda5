# SPDX-License-Identifier: Apache-2.0
"""Checks of the machine: Python, Java, memory, open files, temporary files."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.doctor.findings import Finding, ok, problem, warning
from headrace.doctor.subject import Subject
from headrace.jvm.java_runtime import NoJavaError, find_java, unused_java_home

_OLDEST_PYTHON: Final = (3, 11)
_MB: Final = 1024 * 1024
_WORKER_MB: Final = 250
"""The memory of a worker's own process and of Spark's Python daemon, roughly."""
_JVM_MB: Final = 200
"""The memory of Spark's JVM beside its heap, roughly."""
_TASK_MB: Final = 80
_DEFAULT_HEAP: Final = "512m"
_HEAP: Final = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_HEAP_UNITS_KB: Final = {"k": 1, "m": 1024, "": 1024, "g": 1024**2, "t": 1024**3}
_FEW_FILES: Final = 4096
_TOO_FEW_FILES: Final = 512
_LITTLE_DISK_MB: Final = 1024
_TOO_LITTLE_DISK_MB: Final = 50
_LONGEST_DIRECTORY: Final = 60
"""Sockets are in directories below it, and their paths have up to 107 bytes."""
_CGROUP: Final = Path("/sys/fs/cgroup")


def check_python(subject: Subject) -> Iterator[Finding]:
    """Check the version of Python."""
    yield python_finding(sys.version_info[:3], platform.python_implementation())


def python_finding(version: tuple[int, ...], implementation: str) -> Finding:
    """Return the finding about a version."""
    found = f"{implementation} {'.'.join(map(str, version))}"
    if version[:2] < _OLDEST_PYTHON:
        return problem(f"{found} is too old", "use Python 3.11 or later")
    return ok(found)


def check_java(subject: Subject) -> Iterator[Finding]:
    """Check the Java that Spark gets."""
    try:
        java = find_java()
    except NoJavaError as error:
        yield problem(error.reason, error.remedy)
        return
    yield ok(f"Java {java.major} at {java.home} ({java.source})")
    reason = unused_java_home(java)
    if reason is not None:
        yield warning(reason, f"set JAVA_HOME={java.home}, or unset it")


@dataclass(frozen=True, slots=True)
class Memory:
    """Megabytes: what is available, and the limit of the container, if there is one."""

    available: int
    limit: int | None = None


def check_memory(subject: Subject) -> Iterator[Finding]:
    """Check the memory against the need of Spark's JVM and a few tasks; nothing where the system does not report it."""
    memory = read_memory()
    if memory is not None:
        yield memory_finding(memory, subject.spark.get("spark.driver.memory", _DEFAULT_HEAP))


def memory_finding(memory: Memory, heap: str) -> Finding:
    """Return the finding about the memory for a JVM with this ``spark.driver.memory``."""
    matched = _HEAP.fullmatch(heap.strip())
    if matched is None:
        return problem(f"spark.driver.memory={heap} is no size", "write it like 512m or 2g")
    base = int(matched[1]) * _HEAP_UNITS_KB[matched[2].lower()] // 1024 + _JVM_MB + _WORKER_MB
    room = memory.available if memory.limit is None else min(memory.available, memory.limit)
    of = "" if memory.limit is None else f", of the container's limit of {memory.limit} MB"
    need = f"a worker needs about {base} MB (spark.driver.memory={heap}) and {_TASK_MB} MB for each task"
    found = f"{room} MB are available{of}; {need}"
    if room < base + _TASK_MB:
        return problem(found, "end other programs, lower spark.driver.memory, or use a larger machine")
    tasks = (room - base) // _TASK_MB
    if tasks < 4:
        return warning(f"{found}: enough for {tasks} tasks", "use a larger machine for more tasks")
    return ok(f"{found}: enough for some {tasks} tasks")


def read_memory() -> Memory | None:
    """Return what Linux reports; None on other systems."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    available = next((int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable:")), None)
    if available is None:
        return None
    limit, used = _number(_CGROUP / "memory.max"), _number(_CGROUP / "memory.current")
    if limit is None or used is None:
        return Memory(available)
    return Memory(min(available, (limit - used) // _MB), limit // _MB)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def check_open_files(subject: Subject) -> Iterator[Finding]:
    """Check the limit of open files, which child processes inherit."""
    yield open_files_finding(*resource.getrlimit(resource.RLIMIT_NOFILE))


def open_files_finding(soft: int, hard: int) -> Finding:
    """Return the finding about the two limits of open files."""
    if soft == resource.RLIM_INFINITY or soft >= _FEW_FILES:
        return ok(f"{'no limit' if soft == resource.RLIM_INFINITY else soft}")
    remedy = "raise it: LimitNOFILE=65536 in a systemd unit, ulimit -n in a shell"
    found = f"at most {soft} open files (hard limit {'none' if hard == resource.RLIM_INFINITY else hard})"
    if soft < _TOO_FEW_FILES:
        return problem(f"{found} are too few for Spark and connections to brokers", remedy)
    return warning(f"{found} are few for many tasks and brokers", remedy)


@dataclass(frozen=True, slots=True)
class Directory:
    """The facts about a directory for temporary files; ``trouble`` is the reason why it cannot be used."""

    path: str
    property: str
    free_mb: int = 0
    trouble: str | None = None


def check_temporary_files(subject: Subject) -> Iterator[Finding]:
    """Check the directories for sockets and Spark's files."""
    yield directory_finding(_directory(_temp(), "TMPDIR"), sockets=True)
    for path in subject.spark.get("spark.local.dir", "").split(","):
        if path.strip():
            yield directory_finding(_directory(path.strip(), "spark.local.dir"))


def _temp() -> str:
    return os.environ.get("TMPDIR") or tempfile.gettempdir()


def _directory(path: str, property: str) -> Directory:
    try:
        free = shutil.disk_usage(path).free // _MB
    except OSError as error:
        return Directory(path, property, trouble=error.strerror or str(error))
    if not os.path.isdir(path):
        return Directory(path, property, free, "it is not a directory")
    if not os.access(path, os.W_OK | os.X_OK):
        return Directory(path, property, free, "it cannot be written to")
    return Directory(path, property, free)


def directory_finding(directory: Directory, *, sockets: bool = False) -> Finding:
    """Return the finding about a directory; its path must be short if ``sockets`` are in it."""
    name = f"{directory.property}={directory.path}"
    if directory.trouble is not None:
        return problem(
            f"{name}: {directory.trouble}", f"name a directory in {directory.property} that the worker's user may write"
        )
    if sockets and len(directory.path.encode()) > _LONGEST_DIRECTORY:
        found = f"{name} is too long for the paths of sockets"
        return warning(found, f"use a directory with at most {_LONGEST_DIRECTORY} bytes")
    found = f"{name} has {directory.free_mb} MB free"
    if directory.free_mb < _TOO_LITTLE_DISK_MB:
        return problem(found, "free disk space, or name another directory")
    if directory.free_mb < _LITTLE_DISK_MB:
        return warning(found, "queries that sort or join spill to it: free disk space, or name another directory")
    return ok(found)
