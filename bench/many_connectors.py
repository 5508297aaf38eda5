# SPDX-License-Identifier: Apache-2.0
"""`python -m bench.many_connectors`: many small connectors on one worker of each engine.

Each connector has one task that writes one record a second, exactly once, with a transaction every ten seconds. Its
worker is started anew, and in the end each connector's records have to be in the topic once each.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench import java_connect
from bench.conditions import conditions_now
from bench.engines import JSON_CONVERTER, Engine, Headrace
from bench.measure import VERIFIABLE_SOURCE
from bench.processes import watched
from bench.topics import committed_values, temporary_topic
from headrace.broker.embedded_broker import EmbeddedBroker

_BROKER_JVM_OPTIONS = ("-Xms1g", "-Xmx1g")
_SETTLING_S, _WATCHED_S, _LOOKS, _PARTITIONS = 15.0, 60.0, 10, 8
_INTERVAL_MS = 10_000
_RUNNING_S = 900.0
"""For all to be running."""


@dataclass(frozen=True, slots=True)
class ManyFigures:
    """The cost of many connectors.

    Seconds from the first request: ``created``, ``running``. Seconds from the start of a worker that has them all:
    ``ready``, ``restarted``. CPU seconds a minute and MB are of the worker with all that it started; the milliseconds,
    of a list of all statuses and of the deletion of one.
    """

    created: float
    running: float
    cpu_s_per_min: float
    pss_mb: float
    status_ms: float
    deleted_ms: float
    ready: float
    restarted: float


_LABELS = (
    ("all created", "s"),
    ("all tasks RUNNING", "s"),
    ("CPU", "s/min"),
    ("memory (PSS)", "MB"),
    ("status of all", "ms"),
    ("deletion of one, until it is gone", "ms"),
    ("started anew: all listed", "s"),
    ("  all tasks RUNNING", "s"),
)


def main(
    connectors: Annotated[int, typer.Option(min=2)] = 100,
    engine: Annotated[list[str] | None, typer.Option(help="`java` or `headrace`; both by default.")] = None,
    tasks_per_process: Annotated[int, typer.Option(min=1, help="`tasks.per.process` of headrace.")] = 1,
) -> None:
    """Measure both engines, one after the other, on a broker of their own each."""
    kinds: dict[str, type[Engine]] = {each.name: each for each in (java_connect.JavaConnect, Headrace)}
    if "java" in (engine or kinds):
        java_connect.fetch()
    found = {name: _measured(kinds[name], connectors, tasks_per_process) for name in engine or kinds}
    shared = f", {tasks_per_process} tasks in a process of headrace's" if tasks_per_process > 1 else ""
    table = Table(*("", *found, ""), title=f"{connectors} connectors with one task and one record a second{shared}")
    for (label, unit), *values in zip(_LABELS, *map(astuple, found.values()), strict=True):
        table.add_row(label, *(f"{value:,.1f}" for value in values), unit)
    console = Console()
    console.print(table)
    console.print(conditions_now(), highlight=False)


def _measured(kind: type[Engine], connectors: int, tasks_per_process: int) -> ManyFigures:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as temporary:
        directory = Path(temporary)
        with EmbeddedBroker(directory / "broker", 0, jvm_options=_BROKER_JVM_OPTIONS) as broker:
            engine = kind(broker.bootstrap_servers, directory / kind.name, group=f"bench-many-{kind.name}")
            if isinstance(engine, Headrace):
                engine.more["spark.master"] = f"local[{connectors + 16},4]"  # by default as many tasks as 256
                engine.more["tasks.per.process"] = str(tasks_per_process)
            return measure(engine, connectors)


def measure(engine: Engine, count: int) -> ManyFigures:
    """Create the connectors, watch them for a minute, start the worker anew, and compare the topic.

    Raise RuntimeError if a task fails, or if a record is missing or doubled.
    """
    names = [f"{engine.group}-{number}" for number in range(count)]
    with temporary_topic(engine.bootstrap_servers, engine.group, _PARTITIONS):
        with engine:
            began = time.monotonic()
            for name in names:
                engine.rest.create(name, _ticking(engine.group))
            created = time.monotonic() - began
            running = _await_running(engine, count) - began
            time.sleep(_SETTLING_S)
            with watched(engine.pid, 5) as usage:
                time.sleep(_WATCHED_S)
            status = median(_milliseconds(engine) for _ in range(_LOOKS))
            asked = engine.rest.remove(names[-1])
            deleted = engine.rest.wait_gone(names[-1]) - asked
        began = engine.launch()
        try:
            ready = engine.rest.await_answer("/connectors", lambda found: len(found) == count - 1, _RUNNING_S) - began
            restarted = _await_running(engine, count - 1) - began
            time.sleep(_SETTLING_S)
        finally:
            engine.stop()
        _compare(engine.bootstrap_servers, engine.group, count)
    cpu = usage.cpu_s * 60 / _WATCHED_S
    return ManyFigures(created, running, cpu, usage.pss_mb, status, deleted * 1000, ready, restarted)


def _ticking(topic: str) -> dict[str, str]:
    """A connector whose records have its name."""
    return {
        "connector.class": VERIFIABLE_SOURCE,
        "tasks.max": "1",
        "topic": topic,
        "throughput": "1",
        "complete.record.data": "true",
        "value.converter": JSON_CONVERTER,
        "value.converter.schemas.enable": "false",
        "transaction.boundary": "interval",
        "transaction.boundary.interval.ms": str(_INTERVAL_MS),
    }


def _await_running(engine: Engine, count: int) -> float:
    deadline = time.monotonic() + _RUNNING_S
    while True:
        states = Counter(_states(engine))
        if states["RUNNING"] == count:
            return time.monotonic()
        if states["FAILED"] or time.monotonic() > deadline:
            raise RuntimeError(f"{engine.name}: of {count} tasks {dict(states)}")
        time.sleep(0.5)


def _states(engine: Engine) -> Sequence[str]:
    answer = engine.rest.get("/connectors?expand=status") or {}
    return [task["state"] for each in answer.values() for task in each["status"]["tasks"]]


def _milliseconds(engine: Engine) -> float:
    began = time.monotonic()
    engine.rest.get("/connectors?expand=status")
    return (time.monotonic() - began) * 1000


def _compare(bootstrap_servers: str, topic: str, count: int) -> None:
    """Each connector's records are 0, 1, 2 and so on, each once."""
    seen: dict[str, list[int]] = {}
    for value in committed_values(bootstrap_servers, topic, _PARTITIONS):
        record = json.loads(value or b"")
        seen.setdefault(record["name"], []).append(record["seqno"])
    if len(seen) != count:
        raise RuntimeError(f"records of {len(seen)} connectors, not of {count}")
    for name, numbers in seen.items():
        if sorted(numbers) != list(range(len(numbers))):
            raise RuntimeError(f"{name}: records are missing or doubled: {sorted(numbers)[:100]}")


if __name__ == "__main__":
    typer.run(main)
