# SPDX-License-Identifier: Apache-2.0
"""What operators do all day: small connectors are created, looked at, paused, restarted, reset and deleted."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import httpx2

from faults.cluster import NAME, Cluster

_TOPIC: Final = "soak-lines"
_LINES: Final = 20
_PATIENCE_S: Final = 240.0
_ANSWER_S: Final = 30.0
_ABSENT: Final = (404,)
_DONE: Final = (200, 201, 202, 204)


class Operators:
    """From one small connector's life to the next. `problems` is what did not succeed in time."""

    def __init__(self, cluster: Cluster, directory: Path, seed: int, pause_s: float = 2.0) -> None:
        """Their connectors' files are in ``directory``. Between two operations they wait for ``pause_s`` or so."""
        self._cluster = cluster
        self._directory = directory
        self._chance = random.Random(seed)
        self._pause_s = pause_s
        self._rest = httpx2.Client(timeout=_ANSWER_S)
        self.done: Counter[str] = Counter()
        self.answers: Counter[int] = Counter()
        self.problems: list[str] = []

    def run(self, over: threading.Event) -> None:
        """Until it is over; then nothing of it is left."""
        with self._rest:
            for number in itertools.count():
                if over.is_set():
                    return
                life = _Life(number, self._directory)
                try:
                    for operation in self._operations(life):
                        operation()
                        if over.wait(self._chance.uniform(0.2, 1.8) * self._pause_s):
                            break
                except AssertionError as error:
                    self.problems.append(str(error))
                finally:
                    self._end(life)

    # ---- a small connector's life

    def _operations(self, life: _Life) -> Iterator[Callable[[], object]]:
        """Each operation, in turn."""
        source, sink = f"/connectors/{life.source}", f"/connectors/{life.sink}"
        plugin = f"/connector-plugins/{life.source_config['connector.class']}/config"
        yield lambda: self._ask("validate", "PUT", f"{plugin}/validate", {"name": life.source, **life.source_config})
        yield lambda: self._ask(
            "preview", "POST", f"{plugin}/preview?records=3", {"name": life.source, **life.source_config}, (200, 503)
        )
        yield lambda: self._ask("create a source", "PUT", f"{source}/config", life.source_config)
        yield lambda: self._ask("create a sink", "PUT", f"{sink}/config", life.sink_config)
        yield lambda: self._await("all lines", lambda: life.copies() >= 1)
        yield lambda: self._ask("list", "GET", "/connectors?expand=status&expand=info")
        for path in (source, sink):
            yield lambda path=path: self._ask("pause", "PUT", f"{path}/pause")
            yield lambda path=path: self._await(f"PAUSED: {path}", lambda: self._states(path) == {"PAUSED"})
            yield lambda path=path: self._ask("resume", "PUT", f"{path}/resume")
            yield lambda path=path: self._await(f"RUNNING: {path}", lambda: self._states(path) == {"RUNNING"})
        yield lambda: self._ask("restart", "POST", f"{source}/restart?includeTasks=true")
        yield lambda: self._ask(
            "restart a task", "POST", f"/connectors/{NAME}/tasks/0/restart", wanted=(*_DONE, 404, 409)
        )
        for view in ("health", "history", "topics", "logs"):
            yield lambda view=view: self._ask(f"read {view}", "GET", f"/connectors/{NAME}/{view}")
        yield lambda: self._ask("stop", "PUT", f"{source}/stop")
        yield lambda: self._ask("reset offsets", "DELETE", f"{source}/offsets")
        yield lambda: self._ask("resume", "PUT", f"{source}/resume")
        yield lambda: self._await("all lines again", lambda: life.copies() >= 2)
        yield lambda: self._ask("read offsets", "GET", f"{sink}/offsets")

    def _end(self, life: _Life) -> None:
        for name in (life.source, life.sink):
            try:
                self._ask("delete", "DELETE", f"/connectors/{name}", wanted=(*_DONE, *_ABSENT))
            except AssertionError as error:
                self.problems.append(str(error))
        life.remove()

    def _states(self, path: str) -> set[str]:
        answer = self._answer(self._port(), "GET", f"{path}/status", None)
        if answer is None or answer.status_code != 200:
            return set()
        status = answer.json()
        return {status["connector"]["state"], *(task["state"] for task in status["tasks"] or [{"state": "none"}])}

    # ---- requests

    def _ask(
        self,
        what: str,
        method: str,
        path: str,
        body: Mapping[str, str] | None = None,
        wanted: tuple[int, ...] = _DONE,
    ) -> None:
        """Ask any worker, and another if it cannot now. All of these requests may be repeated."""
        last: list[str] = []

        def answered() -> bool:
            answer = self._answer(self._port(), method, path, body)
            last[:] = ["no answer"] if answer is None else [f"{answer.status_code} {answer.text[:300]}"]
            return answer is not None and answer.status_code in wanted

        self._await(f"{method} {path}", answered, lambda: last[0], 0.5)
        self.done[what] += 1

    def _answer(self, port: int, method: str, path: str, body: Mapping[str, str] | None) -> httpx2.Response | None:
        with suppress(httpx2.HTTPError):
            answer = self._rest.request(method, f"http://127.0.0.1:{port}{path}", json=body)
            self.answers[answer.status_code] += 1
            return answer
        return None

    def _port(self) -> int:
        return self._chance.choice(self._cluster.workers).port

    def _await(
        self, what: str, condition: Callable[[], bool], state: Callable[[], str] = lambda: "", pause: float = 0.5
    ) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"not within {_PATIENCE_S:g} s: {what}: {state()}")
            time.sleep(pause)


class _Life:
    """A file source with a transformation and a file sink, both for some lines of their own."""

    def __init__(self, number: int, directory: Path) -> None:
        self._begin = f"life {number} line "
        self._input, self._output = directory / f"lines-{number}", directory / f"copied-{number}"
        self._input.write_text("".join(f"{self._begin}{line}\n" for line in range(_LINES)))
        self.source, self.sink = f"soak-source-{number}", f"soak-sink-{number}"
        transformation = {
            "transforms": "route",
            "transforms.route.type": "RegexRouter",
            "transforms.route.regex": "any-(.*)",
            "transforms.route.replacement": "$1",
        }
        self.source_config = _config("FileStreamSource", self._input, topic=f"any-{_TOPIC}", **transformation)
        self.sink_config = _config("FileStreamSink", self._output, topics=_TOPIC)

    def copies(self) -> int:
        """How often each of the lines has come out, at least."""
        text = self._output.read_text() if self._output.exists() else ""
        return min(text.count(f"{self._begin}{line}\n") for line in range(_LINES))

    def remove(self) -> None:
        self._input.unlink(missing_ok=True)
        self._output.unlink(missing_ok=True)


def _config(plugin: str, file: Path, **more: str) -> dict[str, Any]:
    return {"connector.class": plugin, "tasks.max": "1", "file": str(file), **more}
