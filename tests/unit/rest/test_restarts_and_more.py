# SPDX-License-Identifier: Apache-2.0
"""Stop, restarts, expansions, patches and topics over REST."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from headrace.herder.errors import ForbiddenError
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import SparkAttempt
from headrace.model.state import TargetState

CONFIG = {"connector.class": "FileStreamSource", "topic": "t"}
RUNNING = {"state": "RUNNING", "worker_id": "h:8083"}
STATUS = {
    "name": "c",
    "connector": {**RUNNING, "version": "1.0"},
    "tasks": [{"id": 0, **RUNNING}],
    "type": "source",
}


@pytest.fixture
def connector(client: httpx2.Client) -> str:
    assert client.post("/connectors", json={"name": "c", "config": CONFIG}).status_code == 201
    return "/connectors/c"


def test_stop(client: httpx2.Client, herder: Any, connector: str) -> None:
    answer = client.put(f"{connector}/stop")
    assert (answer.status_code, answer.content, herder.states["c"]) == (204, b"", TargetState.STOPPED)
    assert client.put("/connectors/x/stop").status_code == 404


def test_a_plain_restart_answers_204(client: httpx2.Client, herder: Any, connector: str) -> None:
    for query in ("", "?includeTasks=false&onlyFailed=false", "?includeTasks=perhaps&onlyFailed=", "?includeTasks=yes"):
        answer = client.post(f"{connector}/restart{query}")
        assert (answer.status_code, answer.content, herder.asked) == (204, b"", (False, False))
    assert client.post("/connectors/x/restart").status_code == 404


@pytest.mark.parametrize(
    ("query", "only_failed", "include_tasks"),
    [
        ("includeTasks=true", False, True),
        ("onlyFailed=true", True, False),
        ("includeTasks=true&onlyFailed=true", True, True),
        ("includeTasks=TRUE&onlyFailed=perhaps", False, True),
        ("includeTasks=1&onlyFailed=True", True, False),
    ],
)
def test_other_restarts_answer_202_with_the_status(
    client: httpx2.Client, herder: Any, connector: str, query: str, only_failed: bool, include_tasks: bool
) -> None:
    answer = client.post(f"{connector}/restart?{query}")
    assert (answer.status_code, herder.asked) == (202, (only_failed, include_tasks))
    assert answer.json() == STATUS


def test_a_tasks_status_and_restart(client: httpx2.Client, herder: Any, connector: str) -> None:
    assert client.get(f"{connector}/tasks/0/status").json() == {"id": 0, **RUNNING}
    assert client.get(f"{connector}/tasks/7/status").status_code == 404
    answer = client.post(f"{connector}/tasks/0/restart")
    assert (answer.status_code, answer.content, herder.asked) == (204, b"", ConnectorTaskId("c", 0))


@pytest.mark.parametrize("number", ["x", "-1", "1.5", "%C2%B2"])
def test_a_task_that_is_no_number_is_not_found(client: httpx2.Client, connector: str, number: str) -> None:
    for answer in (
        client.get(f"{connector}/tasks/{number}/status"),
        client.post(f"{connector}/tasks/{number}/restart"),
    ):
        assert answer.status_code == 404 and answer.json()["error_code"] == 404


@pytest.mark.parametrize("query", ["expand=info&expand=status", "expand=status&expand=info&expand=x"])
def test_both_expansions(client: httpx2.Client, connector: str, query: str) -> None:
    task = {"connector": "c", "task": 0}
    info = {"name": "c", "config": {**CONFIG, "name": "c"}, "tasks": [task], "type": "source"}
    assert client.get(f"/connectors?{query}").json() == {"c": {"status": STATUS, "info": info}}


def test_one_expansion_or_none(client: httpx2.Client, connector: str) -> None:
    assert client.get("/connectors?expand=status").json() == {"c": {"status": STATUS}}
    assert client.get("/connectors?expand=info").json()["c"].keys() == {"info"}


@pytest.mark.parametrize("query", ["expand=nothing", "expand=", "expand", "expand=info,status", "expand=INFO"])
def test_an_expansion_that_there_is_not(client: httpx2.Client, connector: str, query: str) -> None:
    assert client.get(f"/connectors?{query}").json() == {"c": {}}
    assert "spark" not in client.get(f"{connector}/status?{query}").json()["tasks"][0]


def test_what_spark_runs_of_tasks(client: httpx2.Client, herder: Any, connector: str) -> None:
    herder.spark = {0: SparkAttempt("app-1", 7, "driver", 2, "host", 4711), 5: SparkAttempt("app-1", 8, "1", 0, "h", 1)}
    block = {"app_id": "app-1", "job_id": 7, "executor": "driver", "attempt": 2, "host": "host", "pid": 4711}
    (task,) = STATUS["tasks"]
    wanted = {**STATUS, "tasks": [{**task, "spark": block}]}
    assert client.get(f"{connector}/status?expand=spark").json() == wanted
    assert client.get("/connectors?expand=spark").json() == {"c": {"status": wanted}}
    assert client.get("/connectors?expand=info&expand=spark").json()["c"].keys() == {"status", "info"}
    assert client.get(f"{connector}/status").json() == STATUS
    assert client.get("/connectors/x/status?expand=spark").status_code == 404


def test_tasks_that_run_elsewhere_have_nothing_of_spark_here(client: httpx2.Client, connector: str) -> None:
    (task,) = client.get(f"{connector}/status?expand=spark").json()["tasks"]
    assert task == {**STATUS["tasks"][0], "spark": None}


def test_a_patch_changes_some_properties(client: httpx2.Client, connector: str) -> None:
    answer = client.patch(f"{connector}/config", json={"topic": None, "file": "f", "tasks.max": 2})
    assert answer.status_code == 200
    wanted = {"connector.class": "FileStreamSource", "file": "f", "tasks.max": "2", "name": "c"}
    assert answer.json()["config"] == client.get(f"{connector}/config").json() == wanted
    assert client.patch("/connectors/x/config", json={"a": "b"}).status_code == 404
    assert client.get("/connectors").json() == ["c"]
    assert client.patch(f"{connector}/config", json={"name": "d"}).status_code == 400


def test_topics(client: httpx2.Client, herder: Any, connector: str) -> None:
    assert client.get(f"{connector}/topics").json() == {"c": {"topics": ["a", "b"]}}
    assert client.get("/connectors/x/topics").json() == {"x": {"topics": []}}
    reset = client.put(f"{connector}/topics/reset")
    assert (reset.status_code, reset.content) == (202, b"")
    herder.error = ForbiddenError("Topic tracking is disabled")
    assert client.get(f"{connector}/topics").status_code == 403
    assert client.put(f"{connector}/topics/reset").status_code == 403


def test_delete_with_offsets(client: httpx2.Client, herder: Any, connector: str) -> None:
    assert client.delete(f"{connector}?includeOffsets=true").status_code == 204
    assert herder.asked is True
    client.delete("/connectors/x")
    assert herder.asked is False
