# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from headrace.api.errors import ConfigError, RetriableError
from headrace.api.frames import FrameJob
from headrace.config.distributed_config import DistributedConfig
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import SparkAttempt, SparkCores
from headrace.plugins.discovery import Plugins
from headrace.task.task_protocol import Stopped
from headrace.task.task_spec import TaskSpec
from headrace.worker.tasks.task_launcher import TaskListener
from headrace.worker.worker import Worker

SUPPORT = "tests.unit.worker.support_connectors"


class Heard:
    """A StatusListener that remembers."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._changed = threading.Condition()

    def _hear(self, what: str, id: object, text: str = "") -> None:
        with self._changed:
            self.events.append((what, str(id)))
            self.texts.append(text)
            self._changed.notify_all()

    def on_startup(self, id: object) -> None:
        self._hear("startup", id)

    def on_running(self, id: object) -> None:
        self._hear("running", id)

    def on_pause(self, id: object) -> None:
        self._hear("pause", id)

    def on_stop(self, id: object) -> None:
        self._hear("stop", id)

    def on_failure(self, id: object, trace: str) -> None:
        self._hear("failure", id, trace)

    def on_restart(self, id: object, reason: str) -> None:
        self._hear("restart", id, reason)

    def on_shutdown(self, id: object) -> None:
        self._hear("shutdown", id)

    def on_topics(self, id: ConnectorTaskId, topics: Sequence[str]) -> None:
        self._hear("topics", id, ",".join(topics))

    def of(self, id: object) -> list[str]:
        return [what for what, heard in self.events if heard == str(id)]

    def await_event(self, what: str, id: object, timeout: float = 5) -> str:
        """The text of the event, once it is heard."""
        with self._changed:
            assert self._changed.wait_for(lambda: (what, str(id)) in self.events, timeout), self.events
            return self.texts[self.events.index((what, str(id)))]


class FakeHandle:
    """A task whose process ends when it is stopped, unless it is `stubborn`, or `immortal` even to a kill."""

    def __init__(self, spec: TaskSpec, listener: TaskListener, stubborn: bool, immortal: bool) -> None:
        self.spec = spec
        self.listener = listener
        self.stubborn = stubborn
        self.immortal = immortal
        self.calls: list[str] = []
        self.gone = threading.Event()

    def pause(self) -> None:
        self.calls.append("pause")

    def resume(self) -> None:
        self.calls.append("resume")

    def stop(self) -> None:
        self.calls.append("stop")
        if not self.stubborn:
            self.end()

    def kill(self) -> None:
        self.calls.append("kill")
        if not self.immortal:
            self.end()

    def end(self) -> None:
        if not self.gone.is_set():
            self.gone.set()
            self.listener.on_event(self.spec.id, Stopped())

    def await_stopped(self, timeout: float) -> bool:
        return self.gone.wait(timeout)

    def forget_topics(self) -> None:
        self.calls.append("forget topics")

    def measure(self) -> None:
        self.calls.append("measure")

    def spark_attempt(self) -> SparkAttempt | None:
        return SparkAttempt("app", 3, "driver", 0, "host", 42) if not self.gone.is_set() else None


class FakeLauncher:
    """A TaskLauncher without processes: tests play them through the handles."""

    def __init__(self) -> None:
        self.handles: dict[ConnectorTaskId, FakeHandle] = {}
        self.stubborn = False
        self.immortal = False
        self.error: Exception | None = None
        self.stopped_with: float | None = None
        self.started = False
        self._changed = threading.Condition()

    def start(self) -> None:
        self.started = True

    def cores(self) -> SparkCores | None:
        return SparkCores(1, 4, len(self.handles))

    def analyse(self, job: FrameJob) -> ConfigError | None:
        return None

    def run_job(self, job: FrameJob) -> None:
        raise RetriableError("no Spark here")

    def launch(self, spec: TaskSpec, listener: TaskListener) -> FakeHandle:
        if self.error:
            raise self.error
        with self._changed:
            handle = self.handles[spec.id] = FakeHandle(spec, listener, self.stubborn, self.immortal)
            self._changed.notify_all()
        return handle

    def stop(self, timeout: float) -> None:
        self.stopped_with = timeout

    def launched(self, id: ConnectorTaskId, timeout: float = 5) -> FakeHandle:
        with self._changed:
            assert self._changed.wait_for(lambda: id in self.handles, timeout)
            return self.handles[id]


class FakeOffsets:
    """An OffsetBackingStore in memory; `hangs` makes it one whose topic cannot be read."""

    def __init__(self) -> None:
        self.stored: dict[bytes, bytes] = {}
        self.written: dict[bytes, bytes | None] = {}
        self.hangs = False

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        return self._answer({key: self.stored.get(key) for key in keys})

    def offsets_of(self, connector: str) -> Future[dict[bytes, dict[str, Any]]]:
        prefix = f'["{connector}",'.encode()
        found = {key[len(prefix) : -1]: json.loads(text) for key, text in self.stored.items() if key.startswith(prefix)}
        return self._answer(found)

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]:
        self.written.update(records)
        return self._answer(None)

    def waiting_for(self) -> str | None:
        return "a broker"

    def _answer(self, values: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if not self.hangs:
            future.set_result(values)
        return future


class Callbacks:
    """What a herder would do."""

    def __init__(self) -> None:
        self.mine: Callable[[ConnectorTaskId], bool] = lambda id: True
        self.reconfigured: list[str] = []

    def owns_task_generation(self, id: ConnectorTaskId) -> bool:
        return self.mine(id)

    def request_task_reconfiguration(self, connector: str) -> None:
        self.reconfigured.append(connector)


@pytest.fixture
def status() -> Heard:
    return Heard()


@pytest.fixture
def launcher() -> FakeLauncher:
    return FakeLauncher()


@pytest.fixture
def offsets() -> FakeOffsets:
    return FakeOffsets()


@pytest.fixture
def callbacks() -> Callbacks:
    return Callbacks()


@pytest.fixture
def worker_props() -> dict[str, str]:
    return {
        "group.id": "g",
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
        "config.storage.topic": "configs",
        "offset.storage.topic": "offsets",
        "status.storage.topic": "statuses",
        "exactly.once.source.enabled": "true",
        "task.shutdown.graceful.timeout.ms": "200",
        "offset.read.timeout.ms": "200",
    }


@pytest.fixture
def worker(
    worker_props: dict[str, str], launcher: FakeLauncher, offsets: FakeOffsets, status: Heard
) -> Iterator[Worker]:
    worker = Worker(DistributedConfig(worker_props), Plugins(), launcher, offsets, status, time.monotonic)
    yield worker
    launcher.immortal = False
    for handle in launcher.handles.values():
        handle.immortal = False
    worker.stop(2)


@pytest.fixture
def source_config() -> Callable[..., Mapping[str, str]]:
    def make(name: str = "c", **more: str) -> dict[str, str]:
        base = {"name": name, "connector.class": f"{SUPPORT}:ObedientSource", "tasks.max": "2"}
        return base | {key.replace("_", "."): value for key, value in more.items()}

    return make
