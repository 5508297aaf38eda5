# SPDX-License-Identifier: Apache-2.0
"""Rows of docs/guide/runbook.md: each symptom is provoked, shows what the row quotes, and ends by the row's remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.data.transactional_producer import TransactionalProducer
from tests.support.polling import wait_for
from tests.support.processes import alive
from tests.support.topics import wait_for_values
from tests.support.worker_process import ROOT, WorkerProcess

RUNBOOK = (ROOT / "docs" / "guide" / "runbook.md").read_text()
GROUP = "group-runbook"
RULES = """
rules:
  - users: [admin]
    role: admin
  - users: [viewer]
    role: viewer
"""
VERIFIABLE = {"connector.class": "VerifiableSource", "throughput": "20"}
LARGE = 2_000_000
LIMIT = "5000000"
ADMIN, VIEWER, WRONG = ("admin", "admin-password"), ("viewer", "viewer-password"), ("admin", "wrong-password")


@pytest.fixture(scope="module")
def its_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker with two cores, users and roles."""
    directory = tmp_path_factory.mktemp("runbook")
    (directory / "rules.yaml").write_text(RULES)
    (directory / "users").write_text("".join(f"{name}={password}\n" for name, password in (ADMIN, VIEWER)))
    process = WorkerProcess(
        directory,
        broker.bootstrap_servers,
        **{
            "group.id": GROUP,
            "spark.master": "local[2]",
            "task.stalled.timeout.ms": "3000",
            "rest.authentication": "basic",
            "rest.basic.auth.credentials.file": str(directory / "users"),
            "rest.authorization.file": str(directory / "rules.yaml"),
        },
    )
    process.rest.auth = ADMIN
    with process:
        process.await_answer(path="/connectors")
        yield process


@pytest.fixture
def put(its_worker: WorkerProcess, unique: str) -> Iterator[Callable[..., None]]:
    """Create or change the test's connector; it is deleted at the end."""

    def put(**config: str) -> None:
        its_worker.rest.put(f"/connectors/{unique}/config", json=config).raise_for_status()

    yield put
    its_worker.rest.delete(f"/connectors/{unique}")


def quoted(*texts: str) -> list[str]:
    """Return the texts, all of which the runbook has."""
    missing = [text for text in texts if text not in RUNBOOK]
    assert not missing, f"docs/guide/runbook.md does not have {missing}"
    return list(texts)


def await_health(worker: WorkerProcess, name: str, verdict: str, *parts: str) -> dict[str, Any]:
    """Return a connector's health once it has the verdict, and its text all of the parts."""
    seen: list[str] = []

    def found() -> dict[str, Any] | None:
        seen[:] = [worker.rest.get(f"/connectors/{name}/health").text]
        health: dict[str, Any] = json.loads(seen[0])
        return health if health.get("verdict") == verdict and all(part in seen[0] for part in parts) else None

    return wait_for(found, 90, lambda: f"{verdict} with {parts}: {seen}\n{worker.log[-3000:]}")


@dataclass(frozen=True)
class Refusal:
    """A request, and what the runbook quotes of its answer."""

    status: int
    quoted: str
    method: str = "GET"
    auth: tuple[str, str] | None = ADMIN
    headers: tuple[tuple[str, str], ...] = ()


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(401, "User cannot access the resource.", auth=None),
        Refusal(401, "User cannot access the resource.", auth=WRONG),
        Refusal(403, "it takes the role editor", "POST", VIEWER),
        Refusal(403, "A page of another site", "POST", headers=(("Origin", "http://elsewhere.example"),)),
        Refusal(421, "rest.allowed.hosts", headers=(("Host", "elsewhere.example"),)),
    ],
    ids=lambda refusal: f"{refusal.status} {refusal.quoted[:12]}",
)
def test_a_refused_request(its_worker: WorkerProcess, refusal: Refusal) -> None:
    (text,) = quoted(refusal.quoted)
    body = {"name": "refused", "config": VERIFIABLE} if refusal.method == "POST" else None
    with httpx2.Client(base_url=its_worker.rest.base_url, auth=refusal.auth) as client:
        answer = client.request(refusal.method, "/connectors", json=body, headers=dict(refusal.headers))
    assert answer.status_code == refusal.status and text in answer.json()["message"], answer.text
    if refusal.auth == WRONG:
        begin, end = quoted("A login from … was refused")[0].split("…")
        assert begin in its_worker.log and end in its_worker.log


def test_no_free_core(its_worker: WorkerProcess, put: Callable[..., None], unique: str) -> None:
    stage, metric = quoted("waiting for a core", "kafka_connect_worker_tasks_waiting_for_cores")
    put(**VERIFIABLE, topic=unique, **{"tasks.max": "3"})
    await_health(its_worker, unique, "degraded", f'"stage":"{stage}"', "gives this worker 2 cores")
    assert f"{metric} 1.0" in its_worker.rest.get("/metrics").text
    put(**VERIFIABLE, topic=unique, **{"tasks.max": "2"})
    await_health(its_worker, unique, "healthy")
    its_worker.wait_for_tasks(unique, tasks=2)


def test_another_task_with_the_transactional_id(
    its_worker: WorkerProcess, put: Callable[..., None], broker: EmbeddedBroker, unique: str
) -> None:
    reason, often, metric = quoted(
        "fenced by a newer instance",
        "restarted 3 times within the last minute",
        "kafka_connect_connector_task_task_fencings_total",
    )
    put(**VERIFIABLE, topic=unique, **{"tasks.max": "1"})
    its_worker.wait_for_tasks(unique)
    pattern = re.compile('restarted [3-9] times|"stage":"polling"')
    while "restarted" not in _await_text(its_worker, unique, pattern):
        count = _restarts(its_worker, unique)["count"]
        other = TransactionalProducer(
            {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"{GROUP}-{unique}-0"}
        )
        # Brokers end the task's open transaction first: if its next attempt is the faster one then, it is fenced too.
        other.init_transactions(30)
        other.close()
        wait_for(lambda count=count: _restarts(its_worker, unique)["count"] > count, 60, f"more than {count} restarts")  # type: ignore[misc]
    found = await_health(its_worker, unique, "degraded", often.partition("3")[2])
    assert "fenced" in _restarts(its_worker, unique)["reason"] and reason in its_worker.log
    assert "group.id" in found["tasks"][0]["last_error"]["hint"]

    def line() -> str:
        return f'{metric}{{connector="{unique}",task="0"}} {_restarts(its_worker, unique)["count"]}.0'

    wait_for(lambda: line() in its_worker.rest.get("/metrics").text, 30, lambda: its_worker.rest.get("/metrics").text)


def _await_text(worker: WorkerProcess, name: str, pattern: re.Pattern[str]) -> str:
    """Return the first match in a connector's health."""

    def match() -> re.Match[str] | None:
        return pattern.search(worker.rest.get(f"/connectors/{name}/health").text)

    return str(wait_for(match, 60, lambda: f"{pattern.pattern}: {worker.log[-3000:]}")[0])


def _restarts(worker: WorkerProcess, name: str) -> dict[str, Any]:
    found: dict[str, Any] = worker.rest.get(f"/connectors/{name}/health").json()["tasks"][0]["restarts"]
    return found


def test_a_call_that_hangs(its_worker: WorkerProcess, put: Callable[..., None], unique: str) -> None:
    quoted("`stalled` in `polling`", "expand=spark", '["tasks"][0]["spark"]["pid"]')
    put(**{"connector.class": "hanging_source.HangingSource", "hows": "asleep", "tasks.max": "1"})
    (task,) = await_health(its_worker, unique, "stalled", "in one call that does not return")["tasks"]
    assert task["stage"] == "polling" and task["stage_since"] >= 3000
    hanging = psutil.Process(
        its_worker.rest.get(f"/connectors/{unique}/status?expand=spark").json()["tasks"][0]["spark"]["pid"]
    )
    assert hanging in its_worker.task_processes()
    its_worker.rest.post(f"/connectors/{unique}/tasks/0/restart").raise_for_status()
    wait_for(lambda: not alive(hanging), 60, "the end of the process that hangs")


def test_a_record_that_is_too_large(
    its_worker: WorkerProcess, put: Callable[..., None], broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    message, producer, topic = quoted(
        "Message size too large (MSG_SIZE_TOO_LARGE)", "producer.override.max.request.size", "max.message.bytes"
    )
    file = tmp_path / "lines"
    file.write_text("one\n" + LARGE * "x" + "\nthree\n")
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": unique, "tasks.max": "1"}
    put(**config)
    (task,) = await_health(its_worker, unique, "failed", message, unique)["tasks"]
    assert task["last_error"]["record"] is None and producer in task["last_error"]["hint"]
    put(**config, **{producer: LIMIT})  # the topic takes no such record yet
    await_health(its_worker, unique, "failed", f"writing to topic {unique} failed: Broker: {message}")
    resource = ConfigResource(
        ResourceType.TOPIC,
        unique,
        incremental_configs=[ConfigEntry(topic, LIMIT, incremental_operation=AlterConfigOpType.SET)],
    )
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(30)
    its_worker.rest.post(f"/connectors/{unique}/tasks/0/restart").raise_for_status()
    values = wait_for_values(broker.bootstrap_servers, unique, 3, 90)
    assert [len(value or b"") for value in values] == [3, LARGE, 5]


def test_a_large_record_that_is_tolerated_is_named(
    its_worker: WorkerProcess, put: Callable[..., None], unique: str, tmp_path: Path
) -> None:
    (field,) = quoted("last_error.record")
    file = tmp_path / "lines"
    file.write_text("one\n" + LARGE * "x" + "\nthree\n")
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": unique, "tasks.max": "1"}
    put(**config, **{"errors.tolerance": "all"})
    (task,) = await_health(its_worker, unique, "degraded", "It skipped a record")["tasks"]
    error = task[field.partition(".")[0]]
    assert error["record"]["source_partition"] == {"filename": str(file)}, error
    assert "max.request.size" in error["message"] and "max.request.size" in error["hint"]
