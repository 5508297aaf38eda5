# SPDX-License-Identifier: Apache-2.0
"""The broker and the worker of the demo, and the processes that it kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2
import psutil
from confluent_kafka import KafkaException

from headrace.broker.child_process import start_child
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.broker.free_port import free_port
from tests.support.processes import children_of, python_daemons
from tests.support.topics import values

T = TypeVar("T")
_WORKER = """\
bootstrap.servers={brokers}
group.id=demo
listeners=http://127.0.0.1:{port}
exactly.once.source.support=enabled
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
config.storage.topic=demo-configs
offset.storage.topic=demo-offsets
status.storage.topic=demo-status
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
"""


class DemoError(Exception):
    """The demo cannot continue; one line says why."""


class Cluster:
    """A broker and one distributed worker, as processes below this one that end with it."""

    def __init__(self, directory: Path, **properties: str) -> None:
        """``properties`` are the worker's, beside those that every demo has."""
        self._directory = directory
        self._properties = properties
        self.broker = EmbeddedBroker(directory / "broker", port=0)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.worker_log = directory / "worker.log"
        self._worker: subprocess.Popen[bytes] | None = None
        self._rest = httpx2.Client(base_url=self.url, timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything in order, by force where that takes too long; nothing is left behind."""
        below = self._below()
        if self._worker is not None and self._worker.poll() is None:
            self._worker.send_signal(signal.SIGTERM)
            try:
                self._worker.wait(30)
            except subprocess.TimeoutExpired:
                self._worker.kill()
        self.broker.close()
        _, alive = psutil.wait_procs(below, timeout=5)
        for process in alive:
            process.kill()

    def start_worker(self) -> None:
        """Start it; it answers in a second or two while Spark starts in the background."""
        properties = self._directory / "worker.properties"
        more = "".join(f"{name}={value}\n" for name, value in self._properties.items())
        properties.write_text(_WORKER.format(brokers=self.broker.bootstrap_servers, port=self.port) + more)
        command = [sys.executable, "-m", "headrace", "distributed", str(properties)]
        self._worker = start_child(command, self.worker_log, dict(os.environ))
        wait_for(self._answers, 60, "the worker's REST interface")

    @property
    def worker_pid(self) -> int:
        assert self._worker is not None
        return self._worker.pid

    def kill_worker(self) -> None:
        """SIGKILL; what was below it ends by itself."""
        assert self._worker is not None
        self._worker.kill()
        self._worker.wait()

    def create(self, name: str, config: dict[str, str]) -> None:
        answer = self._rest.post("/connectors", json={"name": name, "config": config})
        if answer.status_code != 201:
            raise DemoError(f"the connector was refused: {answer.json().get('message')}")

    def status(self, name: str) -> dict[str, Any]:
        answer = self._rest.get(f"/connectors/{name}/status")
        return dict(answer.json()) if answer.status_code == 200 else {}

    def running(self, name: str) -> bool:
        tasks = self.status(name).get("tasks", [])
        failed = next((t for t in tasks if t["state"] == "FAILED"), None)
        if failed is not None:
            raise DemoError(f"the task failed: {failed['trace'].splitlines()[0]}")
        return bool(tasks) and all(task["state"] == "RUNNING" for task in tasks)

    def committed(self, name: str) -> int:
        """The file position up to which everything is in Kafka for good."""
        offsets = self._rest.get(f"/connectors/{name}/offsets").json().get("offsets", [])
        return int(offsets[0]["offset"]["position"]) if offsets else 0

    def jvm(self) -> psutil.Process | None:
        """Spark's JVM: in local mode it is the executor too."""
        return next((p for p in self._below() if p.name() == "java"), None)

    def task_process(self) -> psutil.Process | None:
        return next(iter(self.task_processes()), None)

    def task_processes(self) -> list[psutil.Process]:
        """The Python processes of the tasks: Spark's daemon, a child of the JVM, forked them."""
        jvm = self.jvm()
        return [child for daemon in python_daemons(jvm) for child in children_of(daemon.pid)] if jvm is not None else []

    def values(self, topic: str) -> list[bytes | None]:
        """All that a read_committed consumer sees of a topic of one partition, to its end."""
        try:
            return values(self.broker.bootstrap_servers, topic)
        except KafkaException as error:
            raise DemoError(f"the topic cannot be read: {error.args[0].str()}") from error

    def _answers(self) -> bool:
        if self._worker is not None and self._worker.poll() is not None:
            lines = self.worker_log.read_text(errors="replace").strip().splitlines()
            raise DemoError(f"the worker ended: {lines[-1] if lines else 'without a word'}")
        try:
            return bool(self._rest.get("/").status_code == 200)
        except httpx2.TransportError:
            return False

    def _below(self) -> list[psutil.Process]:
        return children_of(self._worker.pid, recursive=True) if self._worker else []


def wait_for(condition: Callable[[], T], seconds: float, what: str, pause: float = 0.02) -> T:
    """The first truthy value of ``condition``; DemoError past ``seconds``."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise DemoError(f"waited {seconds:g} s for {what}")
        time.sleep(pause)
    return value
