# SPDX-License-Identifier: Apache-2.0
"""The few calls of the Connect REST interface that measuring needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

_LOOK_S = 0.01


class ConnectRest:
    """A worker's REST interface, the same for both engines."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx2.Client(base_url=url, timeout=30)

    @property
    def worker_id(self) -> str:
        return self.url.removeprefix("http://")

    def is_ready(self) -> bool:
        """Whether the worker answers and has joined its group."""
        return self.get("/connectors") is not None

    def get(self, path: str) -> Any:
        """The answer's JSON; None if there is no answer, or another code than 200."""
        try:
            answer = self._client.get(path)
        except httpx2.HTTPError:
            return None
        return answer.json() if answer.status_code == 200 else None

    def await_answer(self, path: str, wanted: Callable[[Any], bool], timeout: float = 90) -> float:
        """Ask for ``path`` until the answer is the one that is wanted; the time (`time.monotonic`) of that."""
        deadline = time.monotonic() + timeout
        while (answer := self.get(path)) is None or not wanted(answer):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.url}{path} after {timeout} s: {answer}")
            time.sleep(_LOOK_S)
        return time.monotonic()

    def create(self, name: str, config: Mapping[str, str], initial_state: str | None = None) -> float:
        """Create a connector; the time (`time.monotonic`) just before the request that succeeded was sent."""
        state = {"initial_state": initial_state} if initial_state else {}
        return self._ask("POST", "/connectors", {"name": name, "config": {"name": name, **config}, **state})

    def pause(self, name: str) -> float:
        """The time just before the request; so do ``stop`` and ``remove``."""
        return self._ask("PUT", f"/connectors/{name}/pause")

    def stop(self, name: str) -> float:
        return self._ask("PUT", f"/connectors/{name}/stop")

    def remove(self, name: str) -> float:
        """Without waiting until the connector is gone."""
        return self._ask("DELETE", f"/connectors/{name}")

    def _ask(self, method: str, path: str, body: Any = None) -> float:
        deadline = time.monotonic() + 30
        while True:
            sent = time.monotonic()
            answer = self._client.request(method, path, json=body)
            if answer.is_success:
                return sent
            if answer.status_code not in (409, 503) or sent > deadline:
                raise RuntimeError(f"{method} {self.url}{path}: {answer.status_code} {answer.text}")
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
        self.wait_gone(name, deadline - time.monotonic())

    def wait_gone(self, name: str, timeout: float = 30) -> float:
        """The time (`time.monotonic`) at which nothing is known of a connector any more."""
        deadline = time.monotonic() + timeout
        while self._client.get(f"/connectors/{name}/status").status_code != 404:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} is still there after its deletion")
            time.sleep(_LOOK_S)
        return time.monotonic()
