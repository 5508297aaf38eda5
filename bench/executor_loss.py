# SPDX-License-Identifier: Apache-2.0
"""How soon a task is back after its executor was killed, on a standalone cluster with an executor to spare."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import TypeVar

import psutil

from bench.engines import Engine
from bench.measure import VERIFIABLE_SOURCE
from bench.topics import receiving, temporary_topic
from tests.support.standalone_cluster import SMALL, StandaloneCluster, task_processes

KILLS = 5
T = TypeVar("T")


def seconds_until_next_record(engine: Engine) -> list[float]:
    """From each kill -9 to the first record that the killed process cannot have committed."""
    engine.directory.mkdir(parents=True, exist_ok=True)
    with StandaloneCluster(engine.directory, workers=2, cores=1) as cluster:
        engine.more |= {"spark.master": cluster.url, **SMALL}
        with engine, temporary_topic(engine.bootstrap_servers, name := f"loss-{uuid.uuid4().hex[:8]}"):
            config = {"connector.class": VERIFIABLE_SOURCE, "tasks.max": "1", "topic": name, "throughput": "200"}
            engine.rest.create(name, config)
            try:
                return _kill_again_and_again(cluster, engine.bootstrap_servers, name)
            finally:
                engine.rest.delete(name)


def _kill_again_and_again(cluster: StandaloneCluster, bootstrap_servers: str, topic: str) -> list[float]:
    arrivals: list[float] = []
    times = []
    with receiving(bootstrap_servers, topic, lambda _, now: arrivals.append(now)):
        for _ in range(KILLS):
            _await(lambda: len(cluster.busy_executors()) == len(cluster.idle_executors()) == 1, "an executor to spare")
            _await_growth(arrivals)
            (executor,) = cluster.busy_executors()
            (process,) = task_processes(executor)
            killed = time.time()
            executor.kill()
            _await(lambda process=process: _gone(process), "the end of the task's process")
            ended = time.time()
            times.append(
                _await(lambda ended=ended: next((each for each in arrivals if each > ended), None), "a record") - killed
            )
    return times


def _await_growth(arrivals: list[float]) -> None:
    now = time.time()
    _await(lambda: arrivals and arrivals[-1] > now + 1, "records")


def _await(condition: Callable[[], T | None], what: str) -> T:
    deadline = time.monotonic() + 90
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within 90 s: {what}")
        time.sleep(0.005)
    return value


def _gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
