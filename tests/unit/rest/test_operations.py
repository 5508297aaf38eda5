# SPDX-License-Identifier: Apache-2.0
"""``/admin/loggers``, ``/health`` and ``/metrics``."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from headrace.api.errors import ConnectError
from headrace.herder.errors import RebalanceNeededError
from headrace.model.service_threads import THREAD_DEATHS, ServiceThread


@pytest.fixture
def logger() -> Iterator[str]:
    name = "org.example.Some thing"
    logging.getLogger(name).setLevel(logging.NOTSET)
    yield name
    logging.getLogger(name).setLevel(logging.NOTSET)


def assert_error(answer: httpx2.Response, status: int, message: str) -> None:
    assert (answer.status_code, answer.json()) == (status, {"error_code": status, "message": message})


# ---- /admin/loggers


def test_a_level_is_set_and_seen(client: httpx2.Client, logger: str) -> None:
    url = f"/admin/loggers/{logger}"
    for level in ("ERROR", "DEBUG"):
        answer = client.put(url, json={"level": level.lower()})
        assert (answer.status_code, answer.json()) == (200, [logger])
        shown = client.get(url).json()
        assert shown["level"] == level and isinstance(shown["last_modified"], int)
        assert client.get("/admin/loggers").json()[logger] == shown
        assert client.get("/admin/loggers/").json()[logger] == shown
    assert logging.getLogger(logger).level == logging.DEBUG
    assert client.put(url, json={"level": "DEBUG"}).json() == []


def test_levels_that_were_never_set(client: httpx2.Client, logger: str) -> None:
    assert client.get(f"/admin/loggers/{logger}").json()["level"] == client.get("/admin/loggers/ROOT").json()["level"]
    listed = client.get("/admin/loggers").json()
    assert listed["root"].keys() == {"level", "last_modified"} and list(listed) == sorted(listed)
    assert listed["asyncio"]["last_modified"] is None
    assert_error(client.get("/admin/loggers/none.such"), 404, "Logger none.such not found.")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ('{"level":"LOUD"}', 404, "invalid log level 'LOUD'."),
        ('{"level":5}', 404, "invalid log level '5'."),
        ('{"level":null}', 400, "Desired 'level' parameter was not specified in request."),
        ("{}", 400, "Desired 'level' parameter was not specified in request."),
        ('{"level":""}', 400, "The field 'level' of the request must be the name of a level"),
        ('{"level":["INFO"]}', 400, "The field 'level' of the request must be the name of a level"),
        ("[]", 400, "Expected a JSON object in the body, not another value"),
    ],
)
@pytest.mark.parametrize("scope", ["worker", "cluster"])
def test_what_is_no_level(
    client: httpx2.Client, herder: Any, logger: str, body: str, status: int, message: str, scope: str
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.put(f"/admin/loggers/{logger}?scope={scope}", content=body, headers=headers)
    assert_error(answer, status, message)
    assert logging.getLogger(logger).level == logging.NOTSET and herder.levels == []


def test_no_body(client: httpx2.Client, logger: str) -> None:
    assert client.put(f"/admin/loggers/{logger}").status_code == 400


def test_the_scope_of_a_level(client: httpx2.Client, herder: Any, logger: str) -> None:
    for scope in ("cluster", "CLUSTER"):
        answer = client.put(f"/admin/loggers/{logger}?scope={scope}", json={"level": "warning"})
        assert (answer.status_code, answer.content) == (204, b"")
    assert herder.levels == [(logger, "WARN")] * 2
    assert logging.getLogger(logger).level == logging.NOTSET, "it comes back through the config topic"
    # As in Kafka Connect another scope is none.
    assert client.put(f"/admin/loggers/{logger}?scope=galaxy", json={"level": "ERROR"}).json() == [logger]


def test_a_level_that_cannot_be_written(client: httpx2.Client, herder: Any, logger: str) -> None:
    herder.error = RebalanceNeededError("The group has no leader at the moment; try again")
    answer = client.put(f"/admin/loggers/{logger}?scope=cluster", json={"level": "INFO"})
    assert_error(answer, 409, str(herder.error))


# ---- /health


def status(client: httpx2.Client) -> tuple[int, str, str]:
    answer = client.get("/health")
    body = answer.json()
    assert body.keys() == {"status", "message"}
    return answer.status_code, body["status"], body["message"]


def test_a_healthy_worker(client: httpx2.Client) -> None:
    ready = "Worker has completed startup and is ready to handle requests."
    assert status(client) == (200, "healthy", ready)


def test_a_worker_that_is_starting(client: httpx2.Client, herder: Any) -> None:
    herder.started, herder.hangs = False, True
    message = "Worker is still starting up. It is waiting for task_configs of connector x since 12 s"
    assert status(client) == (503, "starting", message)


UNHEALTHY = "Worker was unable to handle this request and may be unable to handle other requests."


def test_a_worker_that_is_blocked(client: httpx2.Client, herder: Any) -> None:
    herder.hangs = True
    message = f"{UNHEALTHY} It is waiting for task_configs of connector x since 12 s"
    assert status(client) == (500, "unhealthy", message)


def test_a_worker_that_has_died(client: httpx2.Client, herder: Any) -> None:
    herder.died, herder.started, herder.hangs = ConnectError("no more"), False, True
    assert status(client) == (500, "unhealthy", f"{UNHEALTHY} The worker has failed: no more")


def test_a_worker_that_cannot_run_tasks(client: httpx2.Client, herder: Any) -> None:
    herder.trouble = "Spark could not be started: no disk; it is started again in 4 s"
    message = f"Worker is ready to handle requests, but cannot run tasks. {herder.trouble}"
    assert status(client) == (503, "unhealthy", message)
    herder.hangs = True
    assert status(client)[0] == 500, "that is worse"


# ---- /metrics


def test_a_worker_that_has_lost_threads(client: httpx2.Client) -> None:
    ready = "Worker has completed startup and is ready to handle requests."
    task, channels = threading.Thread(name="task-c-0"), ServiceThread("channels", lambda: None, "no task can start")
    try:
        THREAD_DEATHS.record(threading.ExceptHookArgs((ValueError, ValueError("poison"), None, task)))
        answer = client.get("/health")
        assert answer.status_code == 200
        assert answer.json()["message"] == f"{ready} Thread task-c-0 died of ValueError: poison"
        THREAD_DEATHS.record(threading.ExceptHookArgs((ValueError, ValueError("poison"), None, channels)))
        answer = client.get("/health")
        assert answer.status_code == 503 and answer.json()["status"] == "unhealthy"
        lost = "Thread channels died of ValueError: poison; no task can start. Restart the worker"
        assert answer.json()["message"] == f"Worker is ready to handle requests, but not for all of its work. {lost}"
    finally:
        THREAD_DEATHS.clear()


def test_metrics(client: httpx2.Client, herder: Any) -> None:
    herder.configs["c"] = {}
    answer = client.get("/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "\nkafka_connect_worker_connector_startup_attempts_total 1.0\n" in answer.text
    assert answer.text.count("# HELP process_cpu_seconds_total ") == 1
