# SPDX-License-Identifier: Apache-2.0
"""Measurements of what workers do beside moving records: answering requests, starting, sharing work.

As in `bench.measure` only REST and the broker are asked, so they are the same for every engine.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.engines import Engine
from bench.measure import VERIFIABLE_SOURCE, file_source
from bench.rest import ConnectRest
from bench.status_topic import StatusTopic
from bench.topics import temporary_topic, write_offsets

STOPPED, RUNNING = 90, 10
JOINED = 50
OFFSETS = 100_000
_SAMPLE = "offsets-sample"
_SETTLING_S = 5.0
"""What has just been started is still busy."""


@dataclass(frozen=True, slots=True)
class StartTimes:
    """Seconds after the start of the process until it answers, lists all connectors, and runs all tasks."""

    ready: float
    listed: float
    running: float


@dataclass(frozen=True, slots=True)
class JoinTimes:
    """Seconds after the start of a second process.

    ``balanced`` when half of the connectors run there and the other worker has let half of the tasks go, ``running``
    when these run as well. ``pause`` is the longest time that one of them did not run, ``disturbed`` how many of the
    tasks that stay where they are were stopped.
    """

    balanced: float
    running: float
    pause: float
    disturbed: int


def request_times(rest: ConnectRest, file: Path, topic: str, count: int) -> dict[str, list[float]]:
    """Milliseconds of each answer (`create`, `pause`, `stop`, `delete`), and until it is done (`create_done`, ...)."""
    times: dict[str, list[float]] = defaultdict(list)
    for number in range(count):
        _one_life(rest, f"{topic}-{number}", file_source(file, topic), times)
    return times


def _one_life(rest: ConnectRest, name: str, config: Mapping[str, str], times: dict[str, list[float]]) -> None:
    def timed(what: str, request: Callable[[], float], done: Callable[[], object]) -> None:
        sent = request()
        times[what].append((time.monotonic() - sent) * 1000)
        done()
        times[f"{what}_done"].append((time.monotonic() - sent) * 1000)

    status = f"/connectors/{name}/status"
    timed("create", lambda: rest.create(name, config), lambda: rest.wait_running(name))
    timed("pause", lambda: rest.pause(name), lambda: rest.await_answer(status, _all_paused))
    timed("stop", lambda: rest.stop(name), lambda: rest.await_answer(status, _stopped))
    timed("delete", lambda: rest.remove(name), lambda: rest.wait_gone(name))


def start_with_connectors(engine: Engine) -> StartTimes:
    """Start a worker anew whose group has a hundred connectors, ninety of them STOPPED."""
    with temporary_topic(engine.bootstrap_servers, engine.group):
        with engine:
            names = [f"{engine.group}-{number}" for number in range(STOPPED + RUNNING)]
            for name in names[RUNNING:]:
                engine.rest.create(name, _ticking(engine.group), "STOPPED")
            for name in names[:RUNNING]:
                engine.rest.create(name, _ticking(engine.group))
            for name in names[:RUNNING]:
                engine.rest.wait_running(name, timeout=120)
        began = engine.launch()
        try:
            ready = engine.rest.await_answer("/", bool)
            listed = engine.rest.await_answer("/connectors", lambda found: len(found) == len(names))
            for name in names[:RUNNING]:
                engine.rest.wait_running(name, timeout=120)
            running = time.monotonic()
        finally:
            engine.stop()
    return StartTimes(ready - began, listed - began, running - began)


def join(first: Engine, second: Engine) -> JoinTimes:
    """Start a second worker of a group with fifty connectors of one task each, and see what becomes of these."""
    with temporary_topic(first.bootstrap_servers, first.group), first:
        names = [f"{first.group}-{number}" for number in range(JOINED)]
        for name in names:
            first.rest.create(name, _ticking(first.group))
        for name in names:
            first.rest.wait_running(name, timeout=180)
        time.sleep(_SETTLING_S)
        with StatusTopic(first.bootstrap_servers, f"{first.group}-status") as statuses:
            began = time.time()
            second.launch()
            try:
                statuses.wait(lambda: _moved(statuses, second.rest.worker_id) == (JOINED // 2, JOINED // 2), 120)
                time.sleep(1)  # for what is stopped beyond need
            finally:
                second.stop()
        return _judged(statuses, second.rest.worker_id, began)


def offsets_read(engine: Engine) -> float:
    """Seconds from the start of a worker until it knows the offsets of a connector, one of 100,000 records."""
    with engine:
        engine.rest.create(_SAMPLE, _ticking(_SAMPLE), "STOPPED")
    write_offsets(engine.bootstrap_servers, f"{engine.group}-offsets", "elsewhere", OFFSETS - 1)
    write_offsets(engine.bootstrap_servers, f"{engine.group}-offsets", _SAMPLE, 1)
    began = engine.launch()
    try:
        return engine.rest.await_answer(f"/connectors/{_SAMPLE}/offsets", lambda found: bool(found["offsets"])) - began
    finally:
        engine.stop()


def _judged(statuses: StatusTopic, newcomer: str, began: float) -> JoinTimes:
    """By the times of the records that both workers wrote, so that looking costs them nothing."""
    connectors = statuses.first("connector", "RUNNING", newcomer)
    left = statuses.first("task", "UNASSIGNED")
    came = statuses.first("task", "RUNNING", newcomer)
    return JoinTimes(
        balanced=max(*connectors.values(), *(left[task] for task in came if task in left)) - began,
        running=max(came.values()) - began,
        pause=max(came[task] - left.get(task, came[task]) for task in came),
        disturbed=len(statuses.of("task") - came.keys()),
    )


def _moved(statuses: StatusTopic, newcomer: str) -> tuple[int, int]:
    """How many connectors and tasks run there."""
    return len(statuses.first("connector", "RUNNING", newcomer)), len(statuses.first("task", "RUNNING", newcomer))


def _ticking(topic: str) -> dict[str, str]:
    """A connector whose task is stopped and started in no time by either engine."""
    return {"connector.class": VERIFIABLE_SOURCE, "tasks.max": "1", "topic": topic, "throughput": "1"}


def _all_paused(status: Mapping[str, object]) -> bool:
    tasks = status["tasks"]
    assert isinstance(tasks, list)
    return bool(tasks) and all(task["state"] == "PAUSED" for task in tasks)


def _stopped(status: Mapping[str, object]) -> bool:
    connector = status["connector"]
    assert isinstance(connector, dict)
    return connector["state"] == "STOPPED" and not status["tasks"]
