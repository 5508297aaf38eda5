# SPDX-License-Identifier: Apache-2.0
"""Log lines about a connector, from all workers of a real group."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, send
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration
LOGS_BAD_RECORDS = {
    "tasks.max": "2",
    "value.converter": "JsonConverter",
    "errors.tolerance": "all",
    "errors.log.enable": "true",
    "consumer.override.metadata.max.age.ms": "1000",
}


@pytest.fixture(scope="module")
def group(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[WorkerProcess]]:
    """Two workers of a group."""
    with ExitStack() as stack:
        workers = [
            WorkerProcess(
                tmp_path_factory.mktemp(f"logs-{n}"), broker.bootstrap_servers, **{"group.id": "headrace-logs-tests"}
            )
            for n in range(2)
        ]
        for worker in workers:
            stack.callback(worker.close)
            worker.launch()
        for worker in workers:
            worker.await_answer(120, "/connectors")
        yield workers


def worker_id(worker: WorkerProcess) -> str:
    return f"127.0.0.1:{worker.port}"


def logs(worker: WorkerProcess, connector: str, **params: Any) -> dict[str, Any]:
    answer = worker.rest.get(f"/connectors/{connector}/logs", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def workers(worker: WorkerProcess) -> dict[str, Any]:
    answer = worker.rest.get("/workers")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def where(found: dict[str, Any]) -> set[tuple[str, str | None]]:
    return {(line["worker"], line["part"]) for line in found["lines"]}


def test_lines_of_all_workers_are_found_and_followed(
    group: list[WorkerProcess], broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    asked, other = group
    for name in (unique, f"{unique}-other"):
        make_topic(broker.bootstrap_servers, name, 2)
        create_sink(asked, name, name, tmp_path / name, **LOGS_BAD_RECORDS)
        asked.wait_for_tasks(name, tasks=2)
    send(broker.bootstrap_servers, f"{unique}-other", [b"of the other one"])

    def errors() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = logs(asked, unique, level="error")["lines"]
        return found

    def both_tasks_have_failed() -> bool:
        # More of them: until both tasks are in the consumer group, one of them reads all partitions.
        for partition in (0, 1):
            send(broker.bootstrap_servers, unique, [b"no json"], partition)
        return {line["part"] for line in errors()} == {"task-0", "task-1"}

    wait_for(both_tasks_have_failed, 90, lambda: str(logs(asked, unique)))
    tasks = {task["id"]: task["worker_id"] for task in asked.status(unique)["tasks"]}
    assert {(line["worker"], line["part"]) for line in errors()} == {(tasks[n], f"task-{n}") for n in (0, 1)}
    everything = logs(asked, unique)
    assert {worker for worker, _ in where(everything)} == {worker_id(worker) for worker in group}
    assert where(logs(other, unique)) == where(everything)
    assert [line for line in everything["lines"] if f"{unique}-other" in line["message"]] == []
    assert everything["missing"] == {} and everything["gaps"] == []
    assert [line["time"] for line in everything["lines"]] == sorted(line["time"] for line in everything["lines"])
    assert {part for _, part in where(logs(asked, unique, task=1))} == {"task-1"}
    assert len(logs(asked, unique, limit=1)["lines"]) == 1

    quiet = everything

    def is_quiet() -> bool:
        nonlocal quiet
        quiet = logs(asked, unique, level="error", after=quiet["positions"], wait=3)
        return quiet["lines"] == []

    wait_for(is_quiet, 60)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(logs, asked, unique, level="error", after=quiet["positions"], wait=30)
        send(broker.bootstrap_servers, unique, [b"bad again"], 1)
        followed = waiting.result()
    assert len(followed["lines"]) >= 1 and len({line["part"] for line in followed["lines"]}) == 1
    assert followed["lines"][0]["time"] >= everything["lines"][-1]["time"]


def test_the_command_follows(group: list[WorkerProcess], broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    make_topic(broker.bootstrap_servers, unique)
    create_sink(group[0], unique, unique, tmp_path / unique, **LOGS_BAD_RECORDS)
    group[0].wait_for_tasks(unique, tasks=2)
    command = [sys.executable, "-m", "headrace", "logs", "-f", unique, "--level", "ERROR"]
    following = subprocess.Popen([*command, "--url", str(group[1].rest.base_url)], stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(120, following.terminate)
    watchdog.start()
    try:
        send(broker.bootstrap_servers, unique, [b"no json"])
        assert following.stdout is not None
        line = following.stdout.readline()
        assert " ERROR " in line and " [task-" in line
    finally:
        watchdog.cancel()
        following.terminate()
        following.wait(30)


def test_each_worker_lists_all_with_what_they_run(group: list[WorkerProcess], unique: str) -> None:
    source = {"connector.class": "VerifiableSource", "topic": unique, "throughput": "1", "tasks.max": "1"}
    group[0].create(unique, **source)
    group[0].wait_for_tasks(unique)

    def tasks() -> dict[str, int]:
        """By the statuses."""
        known = group[0].rest.get("/connectors", params={"expand": "status"}).json().values()
        ran = Counter(task["worker_id"] for each in known for task in each["status"]["tasks"])
        return {worker_id(worker): ran[worker_id(worker)] for worker in group}

    for worker in group:
        wait_for(lambda: tasks() == {each["worker_id"]: each["tasks"] for each in workers(worker)["workers"]}, 60)  # noqa: B023
        found = workers(worker)
        assert found["missing"] == {} and found["leader"] in tasks()
        assert [each["worker_id"] for each in found["workers"] if each["leader"]] == [found["leader"]]
        for each in found["workers"]:
            assert each["url"] == f"http://{each['worker_id']}" and each["config_lag"] == 0, each
            assert each["spark"]["total"] >= each["spark"]["busy"] and each["memory_bytes"] > 10_000_000, each


def test_changes_of_both_workers_are_found_at_each(group: list[WorkerProcess], unique: str) -> None:
    """Also of no connector, and of one that never was; the newest first."""
    for number, worker in enumerate(group):
        worker.rest.put(f"/admin/loggers/{unique}.{number}", json={"level": "INFO"}).raise_for_status()
        assert worker.rest.delete(f"/connectors/{unique}-{number}").status_code == 404
    wanted = [("DELETE", 1, "404"), ("PUT", 1, "200"), ("DELETE", 0, "404"), ("PUT", 0, "200")]
    for worker in group:
        found = worker.rest.get("/changes", params={"text": unique}).json()
        assert found["missing"] == {}
        asked = [each for each in found["changes"] if not each["forwarded"]]
        assert [(each["what"].split()[0], each["worker"], each["result"]) for each in asked] == [
            (method, worker_id(group[number]), result) for method, number, result in wanted
        ]
        assert [each["connector"] for each in asked] == [f"{unique}-1", None, f"{unique}-0", None]
        refused = worker.rest.get("/changes", params={"connector": f"{unique}-*", "result": "failed"}).json()["changes"]
        assert {each["connector"] for each in refused} == {f"{unique}-0", f"{unique}-1"}
    for wrong in ({"limit": 0}, {"limit": 1001}, {"result": "odd"}):
        assert group[0].rest.get("/changes", params=wrong).status_code == 400, wrong
    assert group[0].rest.post("/internal/changes", json={}).status_code in (400, 403)


def test_mistakes_are_refused(group: list[WorkerProcess], unique: str, tmp_path: Path) -> None:
    create_sink(group[0], unique, unique, tmp_path / unique)
    path = f"/connectors/{unique}/logs"
    for wrong in ({"level": "loud"}, {"after": "x"}, {"limit": 0}, {"wait": 31}, {"task": -1}):
        assert group[0].rest.get(path, params=wrong).status_code == 400, wrong
    assert group[0].rest.get("/connectors/missing/logs").status_code == 404
    stranger = group[0].rest.post(f"/internal/logs/{unique}", json={"connector": unique})
    assert stranger.status_code in (400, 403)
    # A position names no worker to ask.
    named = logs(group[0], unique, after="127.0.0.1:1=a:1")
    assert named["missing"] == {}


def test_a_worker_that_does_not_answer_is_named(
    group: list[WorkerProcess], broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    make_topic(broker.bootstrap_servers, unique, 2)
    create_sink(group[0], unique, unique, tmp_path / unique, **LOGS_BAD_RECORDS)
    group[0].wait_for_tasks(unique, tasks=2)
    wait_for(lambda: len({task["worker_id"] for task in group[0].status(unique)["tasks"]}) > 0, 60)
    lost = worker_id(group[1])
    os.kill(group[1].pid, signal.SIGSTOP)
    stopped = workers(group[0])
    assert [each["worker_id"] for each in stopped["workers"]] == [worker_id(group[0])]
    assert "has not answered within" in stopped["missing"][lost]
    group[1].kill()
    gone = workers(group[0])
    assert gone["missing"].keys() == {lost} and "refused" in gone["missing"][lost]
    found = logs(group[0], unique)
    assert lost in found["missing"] or lost not in {t["worker_id"] for t in group[0].status(unique)["tasks"]}
    assert {worker for worker, _ in where(found)} <= {worker_id(group[0])}
    wait_for(lambda: workers(group[0])["missing"] == {}, 60, lambda: f"the group without it: {workers(group[0])}")
    assert [each["worker_id"] for each in workers(group[0])["workers"]] == [worker_id(group[0])]
