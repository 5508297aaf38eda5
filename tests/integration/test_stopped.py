# SPDX-License-Identifier: Apache-2.0
"""The target state STOPPED over REST (KIP-875's list of tests), where no task has to run for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.support.polling import wait_for

SOURCE = {"connector.class": "VerifiableSource", "topic": "t", "throughput": "1", "tasks.max": "2"}


@pytest.fixture
def url(idle_api: httpx2.Client, unique: str) -> Iterator[str]:
    """A connector with two tasks that run."""
    assert idle_api.post("/connectors", json={"name": unique, "config": SOURCE}).status_code == 201
    url = f"/connectors/{unique}"
    reach(idle_api, url, "RUNNING", ["RUNNING"] * 2)
    yield url
    assert idle_api.delete(url).status_code == 204


def reach(api: httpx2.Client, url: str, state: str, tasks: list[str]) -> None:
    def status() -> Any:
        answer = api.get(f"{url}/status").json()
        return answer.get("connector", {}).get("state"), [task["state"] for task in answer.get("tasks", [])]

    wait_for(lambda: status() == (state, tasks), 30, lambda: f"{state} and {tasks}: {status()}")


def ask(api: httpx2.Client, url: str, what: str) -> None:
    answer = api.put(f"{url}/{what}")
    assert (answer.status_code, answer.content) == (204 if what == "stop" else 202, b"")


@pytest.mark.parametrize("first", ["", "pause"])
@pytest.mark.parametrize("then", ["", "pause"])
def test_stopped_and_started_again(idle_api: httpx2.Client, url: str, first: str, then: str) -> None:
    """A running or a paused one; paused after that, it has no tasks before it is resumed, as in Java."""
    if first:
        ask(idle_api, url, first)
        reach(idle_api, url, "PAUSED", ["PAUSED"] * 2)
    for _ in range(2):  # asked again, it is stopped already
        ask(idle_api, url, "stop")
    reach(idle_api, url, "STOPPED", [])
    if then:
        ask(idle_api, url, then)
        reach(idle_api, url, "PAUSED", [])
    ask(idle_api, url, "resume")
    reach(idle_api, url, "RUNNING", ["RUNNING"] * 2)


def test_nothing_is_reported_about_the_tasks_of_a_stopped_one(idle_api: httpx2.Client, url: str) -> None:
    ask(idle_api, url, "stop")
    reach(idle_api, url, "STOPPED", [])
    assert idle_api.get(f"{url}/tasks").json() == []
    assert idle_api.get(url).json()["tasks"] == []
    expanded = idle_api.get("/connectors?expand=info&expand=status").json()[url.rpartition("/")[2]]
    assert expanded["info"]["tasks"] == [] and expanded["status"]["tasks"] == []
    assert idle_api.get(f"{url}/tasks/0/status").status_code == 404
    assert idle_api.get(f"{url}/config").json()["tasks.max"] == "2", "it is still there"
    assert idle_api.post(f"{url}/tasks/0/restart").status_code in (404, 409)
