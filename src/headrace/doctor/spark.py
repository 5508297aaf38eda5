# SPDX-License-Identifier: Apache-2.0
"""The check of Spark's master, and of its cores against the tasks of the group's connectors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import httpx2

from headrace.api.errors import ConnectError
from headrace.doctor.findings import Finding, counted, ok, problem, warning
from headrace.doctor.subject import Subject
from headrace.spark.engine.master import is_local, unreachable
from headrace.spark.engine.slots import remedy
from headrace.spark.engine.spark_settings import MASTER, PREFERRED

_LOCAL: Final = re.compile(r"local(?:\[(\d+|\*)(?:,(\d+))?\])?")
_UI_PORT: Final = 8080
_UI_TIMEOUT_S: Final = 3.0
_FEW_FAILURES: Final = 4


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores of a cluster, and those that no application uses."""

    total: int
    free: int


def check_spark(subject: Subject) -> Iterator[Finding]:
    """Check ``spark.master``, and its cores if they can be found out."""
    if subject.config is None:
        return
    master = subject.spark.get(MASTER, PREFERRED[MASTER]).strip()
    tasks = _tasks(subject)
    if is_local(master):
        yield from local_findings(master, tasks, os.cpu_count() or 1)
        return
    reason = unreachable(master)
    if reason is not None:
        yield problem(f"{MASTER}={master}: {reason}", f"start the master, or correct {MASTER} and firewalls")
        return
    yield from cluster_findings(master, tasks, master_cores(master))


def _tasks(subject: Subject) -> int | None:
    """Return the number of tasks of all connectors of the group; None if it is not known."""
    if subject.distributed is None:
        return None
    try:
        return sum(each.tasks for each in subject.kafka.connectors(subject.distributed))
    except ConnectError:
        return None


def local_findings(master: str, tasks: int | None, machine_cores: int) -> Iterator[Finding]:
    """Return the findings about ``local[N,F]``: N tasks can run at once, and each process may be lost F - 1 times."""
    matched = _LOCAL.fullmatch(master)
    if matched is None:
        yield problem(f"{MASTER}={master} is no master", f"write it like {PREFERRED[MASTER]} or spark://host:7077")
        return
    cores = machine_cores if matched[1] == "*" else int(matched[1] or 1)
    found = f"{MASTER}={master}: tasks run on this machine, {cores} at once at most"
    yield _enough(found, master, tasks, cores)
    if int(matched[2] or 1) < _FEW_FAILURES:
        failures = "the first loss of a task's process ends its Spark job" if not matched[2] else f"F is {matched[2]}"
        advice = f"write local[{matched[1] or 1},{_FEW_FAILURES}]"
        yield warning(f"{MASTER}={master}: {failures}, and the worker has to submit another", advice)


def cluster_findings(master: str, tasks: int | None, cores: Cores | None) -> Iterator[Finding]:
    """Return the finding about a cluster that can be reached, or whose master is no address (yarn)."""
    if cores is None:
        known = "" if tasks is None else f"; the group has {counted(tasks, 'task')}, each of which needs a core"
        yield ok(
            f"{MASTER}={master} answers; its cores are not known{known}" if "//" in master else f"{MASTER}={master}"
        )
        return
    found = f"{MASTER}={master} answers: {cores.free} of {counted(cores.total, 'core')} are free"
    yield _enough(found, master, tasks, cores.total)


def _enough(found: str, master: str, tasks: int | None, cores: int) -> Finding:
    if tasks is None:
        return ok(found)
    found = f"{found}; the group has {counted(tasks, 'task')}, each of which needs a core"
    return ok(found) if tasks <= cores else warning(f"{found}, shared by all its workers", remedy(master))


def master_cores(master: str) -> Cores | None:
    """Return the cores that a standalone master's web page reports at its default port; None if it does not."""
    matched = re.fullmatch(r"spark://(\[.+?\]|[^:,/]+):(\d+)(?:,.*)?", master)
    if matched is None:
        return None
    url = f"http://{matched[1]}:{_UI_PORT}/json/"
    with suppress(httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, TypeError):
        found = httpx2.get(url, timeout=_UI_TIMEOUT_S, trust_env=False).json()
        if str(found["url"]).rpartition(":")[2] != matched[2]:
            return None  # it is the page of another master
        return Cores(int(found["cores"]), int(found["cores"]) - int(found["coresused"]))
    return None
