# SPDX-License-Identifier: Apache-2.0
"""The health of connectors and tasks on two real workers, asked of the one that does not run them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, send, wait_for_lines
from tests.support.worker_process import WorkerProcess, once_settled

STALLED_MS = 4_000
JSON = "org.apache.kafka.connect.json.JsonConverter"
Task = dict[str, Any]


@pytest.fixture(scope="module")
def workers(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[WorkerProcess]]:
    properties = {"group.id": "group-health", "task.stalled.timeout.ms": str(STALLED_MS)}
    pair = [
        WorkerProcess(tmp_path_factory.mktemp(name), broker.bootstrap_servers, **properties) for name in ("one", "two")
    ]
    try:
        for worker in pair:
            worker.start()
        yield pair
    finally:
        for worker in pair:
            worker.close()


def health(worker: WorkerProcess, name: str) -> dict[str, Any]:
    answer = once_settled(lambda: worker.rest.get(f"/connectors/{name}/health"))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def task_of(worker: WorkerProcess, name: str) -> Task:
    (task,) = health(worker, name)["tasks"]
    return task


def await_task(workers: list[WorkerProcess], name: str, fits: Callable[[Task], bool]) -> list[Task]:
    """Return the only task's health by each worker, once both say what ``fits``."""

    def found() -> list[Task] | None:
        tasks = [task_of(worker, name) for worker in workers]
        return tasks if all(map(fits, tasks)) else None

    return wait_for(found, 60, lambda: f"{[health(worker, name) for worker in workers]}")


def owner_of(workers: list[WorkerProcess], task: Task) -> WorkerProcess:
    return next(worker for worker in workers if task["worker_id"] == f"127.0.0.1:{worker.port}")


def test_a_failed_tasks_facts_stay_at_every_worker(
    workers: list[WorkerProcess], broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    servers, file = broker.bootstrap_servers, tmp_path / "lines"
    make_topic(servers, unique)
    converter = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
    create_sink(workers[0], unique, unique, file, **converter)
    send(servers, unique, [b'{"n": %d}' % number for number in range(7)])
    wait_for_lines(file, 7)

    def caught_up(task: Task) -> bool:
        return task["last_commit"] is not None and bool(task["lag"]) and task["lag"]["records"] == 0

    for task in await_task(workers, unique, caught_up):
        assert (task["state"], task["verdict"], task["stage"]) == ("RUNNING", "healthy", "reading"), task
        assert task["lag"]["partitions"] == {f"{unique}-0": 0}
        assert task["last_record"] > 0 and task["last_poll"] < 5_000 and task["records_per_second"] > 0
        assert task["bytes_per_second"] == pytest.approx(8 * task["records_per_second"], rel=0.01)
        assert task["last_error"] is None and task["measured"] < 5_000

    send(servers, unique, [b'{"n": broken'])
    for task in await_task(workers, unique, lambda task: task["state"] == "FAILED"):
        assert task["verdict"] == "failed" and task["stage"] == "converting", task
        assert task["last_record"] > 0 and task["last_commit"] > 0 and task["lag"] is not None
        assert task["last_error"]["handling"] == "failed" and task["last_error"]["class"] == "DataError"
    whole = health(workers[0], unique)
    assert whole["verdict"] == "failed" and whole["why"].startswith("Task 0: It has failed: ")
    assert whole["connector"]["verdict"] == "healthy"
    # and with the others
    for worker in workers:
        listed = worker.rest.get("/connectors?expand=health&expand=status").json()[unique]
        assert listed.keys() == {"health", "status"} and listed["health"]["tasks"][0]["stage"] == "converting"


def test_a_sink_behind_transactions_has_no_lag_once_it_has_all(
    workers: list[WorkerProcess], unique: str, tmp_path: Path
) -> None:
    """Each commit leaves a marker, whose offset no sink consumes."""
    source, file = f"{unique}-source", tmp_path / "lines"
    verifiable = {"connector.class": "VerifiableSource", "topic": unique, "throughput": "50", "tasks.max": "1"}
    workers[0].create(source, **verifiable)
    workers[0].wait_for_tasks(source)
    wait_for(lambda: task_of(workers[0], source)["last_commit"], 60, "a commit")
    create_sink(workers[0], unique, unique, file)
    workers[0].wait_for_tasks(unique)
    # Not stopped: the sink's task could move for it, and would have nothing left to read at the other worker.
    workers[0].rest.put(f"/connectors/{source}/pause").raise_for_status()

    def has_all(task: Task) -> bool:
        return bool(task["last_record"]) and bool(task["lag"]) and task["lag"]["records"] == 0

    await_task(workers, unique, has_all)
    for task in await_task(workers, unique, lambda task: bool(task["last_record"] > 2 * STALLED_MS)):
        assert task["lag"]["partitions"] == {f"{unique}-0": 0}, task
        assert (task["stage"], task["verdict"]) == ("reading", "healthy"), task


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("asleep", "in one call that does not return"),  # without children, which no process would end
        ("stopped", "Its process has not answered for"),
    ],
)
def test_a_task_that_hangs_in_poll_is_stalled(workers: list[WorkerProcess], unique: str, how: str, why: str) -> None:
    workers[0].create(unique, **{"connector.class": "hanging_source.HangingSource", "hows": how, "tasks.max": "1"})
    try:
        workers[0].wait_for_tasks(unique)
        for task in await_task(workers, unique, lambda task: task["verdict"] == "stalled"):
            assert (task["state"], task["stage"]) == ("RUNNING", "polling"), task
            assert why in task["why"] and max(task["stage_since"], task["measured"]) >= STALLED_MS
        # a connector of its own mind
        longer = {"connector.class": "hanging_source.HangingSource", "hows": how, "task.stalled.timeout.ms": "3600000"}
        workers[0].rest.put(f"/connectors/{unique}/config", json={"name": unique, **longer}).raise_for_status()
        await_task(workers, unique, lambda task: task["state"] == "RUNNING" and task["verdict"] != "stalled")
    finally:
        workers[0].delete(unique)


def test_a_worker_that_does_not_answer_is_named(workers: list[WorkerProcess], unique: str) -> None:
    source = {"connector.class": "VerifiableSource", "topic": unique, "throughput": "100", "tasks.max": "1"}
    workers[0].create(unique, **source)
    workers[0].wait_for_tasks(unique)
    (task, _) = await_task(workers, unique, lambda task: bool(task["last_commit"] and task["records_per_second"]))
    assert task["verdict"] == "healthy" and task["bytes_per_second"] > task["records_per_second"], task
    owner = owner_of(workers, task)
    other = next(worker for worker in workers if worker is not owner)
    for path in (f"/connectors/{unique}/history", "/history"):
        wait_for(lambda path=path: (other.rest.get(path).json()["records_per_second"][-1] or 0) > 10, 60, path)  # type: ignore[misc]
    os.kill(owner.pid, signal.SIGSTOP)
    try:
        asked = time.monotonic()
        unknown = task_of(other, unique)
        assert time.monotonic() - asked < 6  # two seconds for the worker that does not answer
        (missing,) = other.rest.get(f"/connectors/{unique}/history").json()["missing"]
        assert missing == task["worker_id"]
    finally:
        os.kill(owner.pid, signal.SIGCONT)
    assert unknown["stage"] is None and unknown["lag"] is None and unknown["state"] == "RUNNING"
    assert unknown["verdict"] == "degraded" and f"127.0.0.1:{owner.port}, has not answered" in unknown["why"]
    await_task(workers, unique, lambda task: task["verdict"] == "healthy")


def test_a_connector_whose_task_configs_fail_is_degraded_until_they_do_not(
    workers: list[WorkerProcess], unique: str, tmp_path: Path
) -> None:
    """It is RUNNING meanwhile, as in Kafka Connect. Both workers say so: one runs it, the other one asks."""
    obstacle = tmp_path / "obstacle"
    obstacle.touch()
    workers[0].create(unique, **{"connector.class": "unready_source.UnreadySource", "obstacle": str(obstacle)})
    for worker in workers:
        wait_for(lambda: worker.rest.get(f"/connectors/{unique}/status").is_success, 60, "a status")  # noqa: B023

    def connectors(fits: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]] | None:
        found = [health(worker, unique) for worker in workers]
        return found if all(fits(each["connector"]) for each in found) else None

    def has_failed_again(connector: dict[str, Any]) -> bool:
        error = connector["task_configs_error"]
        return error is not None and error["attempts"] > 2

    for whole in wait_for(lambda: connectors(has_failed_again), 60, lambda: f"{health(workers[0], unique)}"):
        connector = whole["connector"]
        error = connector["task_configs_error"]
        assert (connector["state"], connector["verdict"], whole["verdict"]) == ("RUNNING", "degraded", "degraded")
        assert (error["class"], error["message"], error["stage"]) == ("DatabaseAwayError", "no database", "computing")
        assert error["since"] > error["age"] >= 0 and 0 <= error["next_attempt"] <= 60_000
        assert whole["why"].startswith("Connector: Computing its task configurations has failed "), whole
    obstacle.unlink()
    workers[0].wait_for_tasks(unique)

    def is_well(connector: dict[str, Any]) -> bool:
        return connector["task_configs_error"] is None and connector["verdict"] == "healthy"

    wait_for(lambda: connectors(is_well), 60, lambda: f"{health(workers[0], unique)}")
