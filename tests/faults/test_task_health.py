# SPDX-License-Identifier: Apache-2.0
"""Health of tasks whose database or disk is not available for some time, and the records afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once
from tests.support.polling import wait_for, within
from tests.support.postgres import Postgres
from tests.support.sinks import create_sink, make_topic, numbers, send, wait_for_committed, wait_for_lines
from tests.support.small_disk import SmallDisk, small_disk
from tests.support.spark_sinks import create_spark_sink, json_rows, parquet_rows, walked
from tests.support.topics import values, wait_for_values
from tests.support.worker_process import WorkerProcess

NOTICED_S = 10.0
"""Seconds within which health shows an error: the claim."""
STALLED_MS = 15_000
LASTING = {"session.timeout.ms": "120000", "heartbeat.interval.ms": "3000"}
"""A session of the worker that outlasts an outage of the brokers: it keeps its tasks."""


class Health:
    """A connector's health, asked for again and again."""

    def __init__(self, worker: WorkerProcess, name: str) -> None:
        self._worker = worker
        self._name = name
        self.newest: Any = None

    @property
    def task(self) -> dict[str, Any]:
        task: dict[str, Any] = self.newest["tasks"][0]
        return task

    def is_now(self, verdict: str, reason: str = "") -> bool:
        answer = self._worker.rest.get(f"/connectors/{self._name}/health")
        assert answer.status_code == 200, answer.text
        self.newest = answer.json()
        return self.newest["verdict"] == verdict and reason in self.newest["why"]

    def stays(self, verdict: str, reason: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.is_now(verdict, reason), str(self)
            time.sleep(0.1)

    def __str__(self) -> str:
        return f"{json.dumps(self.newest)}\n{self._worker.log[-3000:]}"

    def lines(self, part: str) -> list[str]:
        """Lines of the worker's log about its task."""
        return [line for line in self._worker.log.splitlines() if f"[{self._name}|task-0]" in line and part in line]


@pytest.fixture
def table(unique: str, postgres: Postgres) -> Iterator[str]:
    name = "rows_" + unique.replace("-", "_")
    postgres.sql(f"CREATE TABLE {name} (id bigint PRIMARY KEY)")
    yield name
    postgres.sql(f"DROP TABLE {name}")


def test_a_database_that_is_killed_and_started_again(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, table: str
) -> None:
    def add(first: int, last: int) -> None:
        postgres.sql(f"INSERT INTO {table} SELECT generate_series({first}, {last})")

    add(1, 1000)
    config = {
        "connector.class": "SparkTableSource",
        "spark.format": "jdbc",
        "table": table,
        "topic": unique,
        "mode": "incrementing",
        "incrementing.column": "id",
        "poll.interval.ms": "200",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
        "task.stalled.timeout.ms": f"{STALLED_MS}",
    }
    health = Health(jdbc_worker, unique)
    jdbc_worker.create(unique, **config, **postgres.options())
    wait_for_values(broker.bootstrap_servers, unique, 1000, 90)
    wait_for(lambda: health.is_now("healthy"), 30, lambda: str(health))
    postgres.kill()
    try:
        within(NOTICED_S, lambda: health.is_now("degraded", "refused"), lambda: str(health))
        error = health.task["last_error"]
        assert (error["class"], error["stage"], error["handling"]) == ("RetriableError", "polling", "retried")
        address = f"127.0.0.1:{postgres.port}"
        assert error["hint"] == f"is the database up, and reachable at {address} from the workers and executors?"
        within(STALLED_MS / 1000 + NOTICED_S, lambda: health.is_now("stalled", "refused"), lambda: str(health))
    finally:
        postgres.start()
    add(1001, 2000)
    wait_for(lambda: health.is_now("healthy"), 60, lambda: str(health))
    assert health.task["state"] == "RUNNING" and health.task["restarts"]["count"] == 0
    wait_for_values(broker.bootstrap_servers, unique, 2000, 60)
    found = [json.loads(value or b"null")["id"] for value in values(broker.bootstrap_servers, unique)]
    assert found == list(range(1, 2001)), "each row, once, in order"
    reasons = [line.partition(" s: ")[2].partition(" (")[0] for line in health.lines("refused")]
    # The driver's connection and an executor's are refused in different words, if both were about to be made.
    assert 1 <= len(reasons) == len({*reasons}) <= 2, "one line each, with the trace, however often it is retried"
    assert len(health.lines("poll succeeded again after")) == 1
    jdbc_worker.delete(unique)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 1) as mounted:
        yield mounted


@pytest.mark.parametrize(("format", "rows"), [("json", json_rows), ("parquet", parquet_rows)])
def test_a_sink_whose_disk_is_full(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, disk: SmallDisk, format: str, rows: Any
) -> None:
    bootstrap, out, health = broker.bootstrap_servers, disk.path / "out", Health(worker, unique)
    make_topic(bootstrap, unique)
    target = {"spark.format": format, "path": str(out), "value.schema": "n BIGINT", "flush.size": "100"}
    retries = {"max.retries": "-1", "retry.backoff.ms": "500"}
    create_spark_sink(worker, unique, unique, **target, **retries)

    def send_numbers(first: int, count: int) -> None:
        send(bootstrap, unique, [b'{"n":%s}' % number for number in numbers(first, count)])

    send_numbers(0, 500)
    wait_for(lambda: len(rows(out)) == 500, 90, lambda: str(health))
    wait_for(lambda: health.is_now("healthy"), 30, lambda: str(health))
    disk.fill()
    try:
        send_numbers(500, 500)
        wait_for(lambda: health.lines("put failed for"), 60, lambda: str(health))
        within(NOTICED_S, lambda: health.is_now("degraded", "No space left on device"), lambda: str(health))
        error = health.task["last_error"]
        assert (error["stage"], error["handling"]) == ("putting", "retried")
        assert error["hint"] == "free space on that disk, or make it larger"
        assert health.task["state"] == "RUNNING"
        assert len(rows(out)) == 500, "a reader sees nothing of a batch that is half written"
    finally:
        disk.free()
    wait_for(lambda: len(rows(out)) >= 1000, 60, lambda: str(health))
    wait_for(lambda: health.is_now("healthy"), 60, lambda: str(health))
    wait_for_committed(bootstrap, unique, unique, {0: 1000})
    assert sorted(row["n"] for row in rows(out)) == list(range(1000)), "each record, once"
    assert not [file for file in walked(out) if "files-" in str(file)], "nothing is left of what was half written"
    assert len(health.lines("put succeeded again after")) == 1
    worker.delete(unique)


def test_brokers_that_are_killed_and_started_again(own_broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    with WorkerProcess(tmp_path, own_broker.bootstrap_servers, **LASTING) as worker:
        health, bootstrap = Health(worker, unique), own_broker.bootstrap_servers
        task = {"connector.class": "numbered_source.NumberedSourceConnector", "tasks.max": "1", "pause.ms": "1000"}
        worker.create(unique, **task, **{"topic": unique, "count": "3000", "batch": "200"})
        wait_for_values(bootstrap, unique, 200, 90)
        wait_for(lambda: health.is_now("healthy"), 30, lambda: str(health))
        written = len(values(bootstrap, unique))
        # Between two transactions: the client reports nothing of brokers that it loses while it ends one.
        wait_for_values(bootstrap, unique, written + 200)
        own_broker.kill()
        within(NOTICED_S, lambda: health.is_now("degraded", "bootstrap.servers"), lambda: str(health))
        assert (health.task["last_error"]["stage"], health.task["last_error"]["handling"]) == ("producing", "retried")
        own_broker.start()
        wait_for(lambda: health.is_now("healthy"), 90, lambda: str(health))
        assert_exactly_once(bootstrap, unique, 3000, worker.properties["offset.storage.topic"], unique)


def test_brokers_of_an_idle_sink_that_are_killed_and_started_again(
    own_broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Nothing is written while they are away, nor until health shows that they are back."""
    file, bootstrap = tmp_path / "lines", own_broker.bootstrap_servers
    make_topic(bootstrap, unique)
    with WorkerProcess(tmp_path, bootstrap, **LASTING) as worker:
        health = Health(worker, unique)
        create_sink(worker, unique, unique, file)
        send(bootstrap, unique, numbers(0, 10))
        wait_for_lines(file, 10)
        wait_for_committed(bootstrap, unique, unique, {0: 10})
        wait_for(lambda: health.is_now("healthy"), 30, lambda: str(health))
        own_broker.kill()
        within(NOTICED_S, lambda: health.is_now("degraded", "Reading has failed"), lambda: str(health))
        health.stays("degraded", "Reading has failed", 20)
        assert (health.task["last_error"]["stage"], health.task["last_error"]["handling"]) == ("reading", "retried")
        own_broker.start()
        wait_for(lambda: health.is_now("healthy"), 60, lambda: str(health))
        assert health.task["state"] == "RUNNING" and health.task["restarts"]["count"] == 0
        send(bootstrap, unique, numbers(10, 10))
        wait_for_lines(file, 20)
