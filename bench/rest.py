# SPDX-License-Identifier: Apache-2.0
"""The few calls of the Connect REST interface that measuring needs."""

from __future__ import annotations

import time
from collections.abc import Mapping

import httpx2


class ConnectRest:
    """A worker's REST interface, the same for both engines."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx2.Client(base_url=url, timeout=30)

    def is_ready(self) -> bool:
        """Whether the worker answers and has joined its group."""
        try:
            return self._client.get("/connectors", timeout=2).status_code == 200
        except httpx2.HTTPError:
            return False

    def create(self, name: str, config: Mapping[str, str]) -> float:
        """Create a connector; the time (`time.monotonic`) just before the request that succeeded was sent."""
        deadline = time.monotonic() + 30
        while True:
            sent = time.monotonic()
            answer = self._client.post("/connectors", json={"name": name, "config": {"name": name, **config}})
            if answer.status_code == 201:
                return sent
            if answer.status_code not in (409, 503) or sent > deadline:
                raise RuntimeError(f"creating {name} at {self.url}: {answer.status_code} {answer.text}")
            time.sleep(0.1)

    def tasks_running(self, name: str) -> int:
        """How many of the connector's tasks are RUNNING; a failed one is an error."""
        answer = self._client.get(f"/connectors/{name}/status")
        if answer.status_code != 200:
            return 0
        tasks = answer.json()["tasks"]
        for task in tasks:
            if task["state"] == "FAILED":
                raise RuntimeError(f"a task of {name} failed: {task.get('trace', '')[:2000]}")
        return sum(task["state"] == "RUNNING" for task in tasks)

    def wait_running(self, name: str, tasks: int = 1, timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while self.tasks_running(name) < tasks:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} is not running after {timeout} s")
            time.sleep(0.05)

    def delete(self, name: str) -> None:
        """Delete a connector and wait until nothing is known of it."""
        deadline = time.monotonic() + 30
        while (code := self._client.delete(f"/connectors/{name}").status_code) not in (204, 404):
            if time.monotonic() > deadline:
                raise RuntimeError(f"deleting {name}: {code}")
            time.sleep(0.1)
        while self._client.get(f"/connectors/{name}/status").status_code != 404:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} is still there after its deletion")
            time.sleep(0.05)
