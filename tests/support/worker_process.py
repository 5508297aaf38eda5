# SPDX-License-Identifier: Apache-2.0
"""A real `headrace distributed`, or standalone, process, its REST interface and the processes below it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx2
import psutil

from headrace.broker.free_port import free_port
from tests.support.polling import wait_for
from tests.support.processes import alive, children_of, command_of, name_of

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "tests" / "support" / "plugins"


class WorkerProcess:
    """Started and killed any number of times, always on the same port, group and internal topics."""

    def __init__(self, directory: Path, bootstrap_servers: str, *, path: tuple[Path, ...] = (), **properties: str):
        self._directory = directory
        self.port = free_port()
        group = properties.get("group.id", "headrace-tests")
        self.properties = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group,
            "listeners": f"http://127.0.0.1:{self.port}",
            "exactly.once.source.support": "enabled",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "offset.flush.interval.ms": "500",
            "session.timeout.ms": "10000",
            **{f"{topic}.storage.topic": f"{group}-{topic}s" for topic in ("config", "offset", "status")},
            **{f"{topic}.storage.replication.factor": "1" for topic in ("config", "offset", "status")},
            "offset.storage.partitions": "3",
            "spark.ui.enabled": "false",
            "plugin.path": str(PLUGINS),
            **properties,
        }
        self.command: tuple[str, ...] = ("distributed",)
        """And for a standalone worker the files of its connectors: ("standalone", file, ...)."""
        self.environment: dict[str, str] = {}
        """What its environment has beside the tests' own."""
        self.prefix: tuple[str, ...] = ()
        """What its command line begins with, as of `prlimit`; it has to become the worker."""
        self._path = (*path, PLUGINS)
        self._process: subprocess.Popen[bytes] | None = None
        self._left: list[psutil.Process] = []
        self.rest = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=90)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def die_once(self) -> Path:
        """While this file exists, a `DyingBeforeInitTask` dies of it."""
        return self._directory / "die-once"

    @property
    def properties_file(self) -> Path:
        return self._directory / "worker.properties"

    @property
    def log(self) -> str:
        return (self._directory / "worker.log").read_text(errors="replace")

    @property
    def pid(self) -> int:
        return self.launched.pid

    @property
    def launched(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the process without waiting for anything."""
        file = self.properties_file
        file.write_text("".join(f"{name}={value}\n" for name, value in self.properties.items()))
        source = [*map(str, self._path), str(ROOT / "src")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(source),
            "HEADRACE_TEST_DIE_ONCE": str(self.die_once),
            **self.environment,
        }
        with (self._directory / "worker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", "headrace", self.command[0], str(file), *self.command[1:]],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self._process

    def start(self, seconds: float = 60) -> None:
        """Start it and wait until it answers."""
        process = self.launch()

        def answers() -> bool:
            if process.poll() is not None:
                raise AssertionError(f"the worker ended with {process.returncode}:\n{self.log[-3000:]}")
            try:
                return self.rest.get("/").status_code == 200
            except httpx2.TransportError:
                return False

        wait_for(answers, seconds, lambda: f"the worker's REST interface\n{self.log[-3000:]}")

    def kill(self) -> None:
        """SIGKILL, as a crash would; what it leaves behind has to end by itself."""
        assert self._process is not None
        self._left = self.descendants()
        self._process.kill()
        self._process.wait()

    def stop(self, seconds: float = 40) -> int:
        """SIGTERM, and wait; the exit code."""
        assert self._process is not None
        self._left = self.descendants()
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(seconds)

    def close(self) -> None:
        """End it and everything below it, whatever state it is in."""
        if self._process is not None and self._process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.kill()
        _, alive = psutil.wait_procs(self._left, timeout=10)
        for process in alive:
            process.kill()
        self.rest.close()

    def leftovers(self) -> list[psutil.Process]:
        """Processes of the last run that are still there."""
        return [process for process in self._left if alive(process)]

    def descendants(self) -> list[psutil.Process]:
        return children_of(self.pid, recursive=True)

    def jvm(self) -> psutil.Process:
        """Spark's JVM."""
        return wait_for(lambda: next((p for p in self.descendants() if "java" in name_of(p)), None), 60, "Spark's JVM")

    def task_processes(self) -> list[psutil.Process]:
        """The processes that run tasks: forks of Spark's Python daemon."""
        daemons = [p for p in self.descendants() if "headrace.spark.process.daemon" in command_of(p) and _daemon(p)]
        return [child for daemon in daemons for child in children_of(daemon.pid)]

    def task_process(self) -> psutil.Process:
        return wait_for(lambda: next(iter(self.task_processes()), None), 60, "a task's process")

    def create(self, name: str, **config: str) -> dict[str, Any]:
        answer = self.rest.post("/connectors", json={"name": name, "config": config})
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created

    def delete(self, name: str) -> None:
        answer = self.rest.delete(f"/connectors/{name}")
        assert answer.status_code == 204, answer.text

    def connectors(self) -> set[str]:
        """Their names; none if it does not answer."""
        with suppress(httpx2.HTTPError):
            return set(self.rest.get("/connectors", timeout=10).json())
        return set()

    def status(self, name: str) -> dict[str, Any]:
        answer = self.rest.get(f"/connectors/{name}/status")
        return answer.json() if answer.status_code == 200 else {}

    def _told(self, name: str) -> str:
        answers = [self.rest.get(path) for path in ("/connectors", f"/connectors/{name}/status")]
        return "; ".join(f"{answer.status_code} {answer.text}" for answer in answers)

    def task_states(self, name: str) -> list[str]:
        return [task["state"] for task in self.status(name).get("tasks", [])]

    def wait_for_tasks(self, name: str, state: str = "RUNNING", tasks: int = 1, seconds: float = 90) -> None:
        wait_for(
            lambda: self.task_states(name) == [state] * tasks,
            seconds,
            lambda: f"{tasks} tasks of {name} {state}: {self._told(name)}\n{self.log[-4000:]}",
        )


def once_settled(request: Callable[[], httpx2.Response]) -> httpx2.Response:
    """The answer to a request that is refused while work is moved: 409 with Retry-After says to come again."""
    answers: list[httpx2.Response] = []

    def settled() -> bool:
        answers.append(request())
        return not (answers[-1].status_code == 409 and "retry-after" in answers[-1].headers)

    wait_for(settled, 30, lambda: answers[-1].text)
    return answers[-1]


def _daemon(process: psutil.Process) -> bool:
    """Whether it is the daemon itself, a child of the JVM, and not one of its forks."""
    try:
        parent = process.parent()
    except psutil.Error:
        return False
    return parent is not None and "java" in name_of(parent)
