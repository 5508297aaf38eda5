# SPDX-License-Identifier: Apache-2.0
"""A real `headrace distributed`, or standalone, process, its REST interface and the processes below it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx2
import psutil

from headrace.broker.free_port import free_port
from tests.support.polling import wait_for
from tests.support.processes import alive, children_of, kill_all, name_of, python_daemons

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "tests" / "plugins"


def group_properties(bootstrap_servers: str, group: str, **more: str) -> dict[str, str]:
    """Return what all workers of a group over one broker need: converters and internal topics; and ``more``."""
    topics = {"config": "configs", "offset": "offsets", "status": "status"}
    return {
        "bootstrap.servers": bootstrap_servers,
        "group.id": group,
        "exactly.once.source.support": "enabled",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        **{f"{kind}.storage.topic": f"{group}-{topic}" for kind, topic in topics.items()},
        **{f"{kind}.storage.replication.factor": "1" for kind in topics},
        "offset.storage.partitions": "3",
        **more,
    }


class WorkerProcess:
    """Started and killed any number of times, always on the same port, group and internal topics."""

    def __init__(self, directory: Path, bootstrap_servers: str, *, path: tuple[Path, ...] = (), **properties: str):
        self._directory = directory
        self.properties_file = directory / "worker.properties"
        self.die_once = directory / "die-once"
        """While this file exists, a `DyingBeforeInitTask` dies of it."""
        self.port = free_port()
        own = {
            "listeners": f"http://127.0.0.1:{self.port}",
            "offset.flush.interval.ms": "500",
            "session.timeout.ms": "10000",
            "spark.ui.enabled": "false",
            "plugin.path": str(PLUGINS),
        }
        group = properties.get("group.id", "headrace-tests")
        self.properties = group_properties(bootstrap_servers, group, **{**own, **properties})
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

    def start(self, seconds: float = 60, path: str = "/") -> None:
        """Start it and wait until it answers."""
        self.launch()
        self.await_answer(seconds, path)

    def await_answer(self, seconds: float = 60, path: str = "/") -> None:
        """Wait for the answer 200 from ``path``. AssertionError if the worker has ended."""

        def answers() -> bool:
            if self.launched.poll() is not None:
                raise AssertionError(f"the worker ended with {self.launched.returncode}:\n{self.log[-3000:]}")
            try:
                return self.rest.get(path).status_code == 200
            except httpx2.TransportError:
                return False

        wait_for(answers, seconds, lambda: f"an answer of the worker from {path}\n{self.log[-3000:]}")

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
        with suppress(AssertionError):
            wait_for(lambda: not self.leftovers(), 10)
        kill_all(self.leftovers())
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
        jvms = [process for process in self.descendants() if "java" in name_of(process)]
        return [child for jvm in jvms for daemon in python_daemons(jvm) for child in children_of(daemon.pid)]

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

    def task_states(self, name: str) -> list[str]:
        return [task["state"] for task in self.status(name).get("tasks", [])]

    def stop_connector(self, name: str) -> None:
        """Stop a connector, until its status says so and has no tasks: STOPPED alone comes before its tasks end."""
        answer = once_settled(lambda: self.rest.put(f"/connectors/{name}/stop"))
        assert (answer.status_code, answer.content) == (204, b"")
        found = self.status
        wait_for(lambda: found(name).get("connector", {}).get("state") == "STOPPED", 60, lambda: str(found(name)))
        self.wait_for_tasks(name, tasks=0)

    def wait_for_tasks(self, name: str, state: str = "RUNNING", tasks: int = 1, seconds: float = 90) -> None:
        wait_for(
            lambda: self.task_states(name) == [state] * tasks,
            seconds,
            lambda: f"{tasks} tasks of {name} {state}: {self.status(name)}\n{self.log[-4000:]}",
        )


def once_settled(request: Callable[[], httpx2.Response]) -> httpx2.Response:
    """The answer to a request that is refused while work is moved: 409 with Retry-After says to come again."""
    answers: list[httpx2.Response] = []

    def settled() -> bool:
        answers.append(request())
        return not (answers[-1].status_code == 409 and "retry-after" in answers[-1].headers)

    wait_for(settled, 30, lambda: answers[-1].text)
    return answers[-1]


def mistakes(worker: WorkerProcess, config: Mapping[str, str], *, wait: bool = True) -> dict[str, list[str]]:
    """What is wrong with each property. By default it is waited for: while Spark starts, nothing is reported."""
    plugin = config["connector.class"]

    def asked() -> dict[str, list[str]]:
        answer = worker.rest.put(f"/connector-plugins/{plugin}/config/validate", json={"name": "checked", **config})
        assert answer.status_code == 200, answer.text
        values = [each["value"] for each in answer.json()["configs"]]
        return {value["name"]: value["errors"] for value in values if value["errors"]}

    return wait_for(asked, 60, f"a mistake to be found in {config}") if wait else asked()
