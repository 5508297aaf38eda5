# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.model.ids import ConnectorTaskId
from headrace.spark.channel.messages import Attach
from headrace.spark.channel.task_channel import AttemptChannel, TaskChannels
from headrace.spark.engine.spark_engine import SparkJobError
from headrace.spark.task.launched_task import LaunchedTask
from headrace.task.task_protocol import (
    AnyRequest,
    AttemptStarted,
    ConfirmStart,
    Ended,
    Event,
    Failed,
    Metrics,
    OffsetsCommitted,
    Outcome,
    ReadOffsets,
    Restarting,
    TopicsUsed,
    Waiting,
    WriteOffsets,
)
from headrace.task.task_spec import TaskKind, TaskSpec
from tests.support.polling import wait_for

SPEC = TaskSpec(ConnectorTaskId("c", 0), TaskKind.SOURCE, "m:C", {"a": "1"}, {}, {}, {}, {}, "offsets", True)
CLOSED = "closed"


class Engine:
    """A SparkEngine whose jobs run until the test ends them, or they are cancelled."""

    def __init__(self) -> None:
        self.jobs = 0
        self.cancelled = 0
        self.on_unavailable: Callable[[str], None] = lambda reason: None
        self._changed = threading.Condition()
        self._running = False
        self._error: SparkJobError | None = None

    def run_task_job(
        self, group: str, description: str, given_up: Callable[[], bool], on_unavailable: Callable[[str], None]
    ) -> None:
        with self._changed:
            self.jobs += 1
            self.on_unavailable = on_unavailable
            self._running, self._error = True, None
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: not self._running, 20)
            if self._error is not None:
                raise self._error

    def await_job(self, number: int = 1) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.jobs >= number and self._running, 10), f"job {number}"

    def end_job(self, error: str | None = None) -> None:
        with self._changed:
            self._running, self._error = False, SparkJobError(error) if error else None
            self._changed.notify_all()

    def cancel(self, group: str) -> None:
        self.cancelled += 1
        self.end_job("cancelled")


class HeardTask:
    """A TaskListener that remembers; ``may_start`` is what it answers, or raises."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.asked = 0
        self.outcomes: list[Outcome | None] = []
        self.may_start: Callable[[], bool] = lambda: True
        self.write: Callable[[Any], None] = lambda records: self.events.append(("write", dict(records)))
        self.offsets: Callable[[Any], Any] = lambda partitions: [{"n": 1} for _ in partitions]
        self.refused: type | None = None
        """A kind of event that it cannot take."""

    def on_event(self, task: ConnectorTaskId, event: Event) -> None:
        if type(event) is self.refused:
            raise ValueError("a defect")
        match event:
            case AttemptStarted(attempt):
                self.events.append(("attempt", attempt))
            case OffsetsCommitted(offsets):
                self.events.append(("offsets", list(offsets)))
            case TopicsUsed(topics):
                self.events.append(("topics", list(topics)))
            case Metrics(values):
                self.events.append(("metrics", dict(values)))
            case Failed(trace):
                self.events.append(("failed", trace))
            case Restarting(reason, outcome):
                self.outcomes.append(outcome)
                self.events.append(("restarting", reason))
            case Waiting(reason):
                self.events.append(("waiting", reason))
            case _:
                self.events.append(type(event).__name__.lower())

    def answer(self, task: ConnectorTaskId, request: AnyRequest) -> Any:
        match request:
            case ConfirmStart():
                self.asked += 1
                return self.may_start()
            case ReadOffsets(partitions):
                return self.offsets(partitions)
            case WriteOffsets(records):
                return self.write(records)


class TaskProcess:
    """A task's process as the worker sees it: the other end of a real channel."""

    def __init__(self, channels: TaskChannels, pid: int, machine: str, key: str = "key") -> None:
        self._connection = channels.endpoint.connect()
        self._connection.send(Attach(key, pid, machine))

    def take(self, seconds: float = 10) -> Any:
        """The next message; CLOSED if the channel is broken, None if nothing comes in time."""
        try:
            return self._connection.recv() if self._connection.poll(seconds) else None
        except (EOFError, OSError):
            return CLOSED

    def await_message(self) -> None:
        """Wait until a message begins to arrive, and leave it."""
        assert self._connection.poll(10)

    def say(self, *messages: object) -> None:
        """Nothing is heard of it once the channel is broken: a real process would have ended."""
        with contextlib.suppress(OSError):
            for message in messages:
                self._connection.send(message)

    def end(self, ended: Ended | None = None) -> None:
        """The process ends: by itself with ``ended``, or killed."""
        if ended is not None:
            self.say(ended)
        self._connection.close()


class Launch:
    """One LaunchedTask with its surroundings."""

    def __init__(self, directory: Path) -> None:
        self.channels = TaskChannels(directory, self._attached)
        self.channels.start()
        self.engine = Engine()
        self.listener = HeardTask()
        self.gone = 0
        self.task: LaunchedTask = self._made(SPEC)

    def start(self, spec: TaskSpec = SPEC) -> LaunchedTask:
        self.task = self._made(spec)
        self.task.start(self._gone)
        self.engine.await_job()
        return self.task

    def process(self, pid: int = 0, machine: str = "elsewhere") -> TaskProcess:
        return TaskProcess(self.channels, pid, machine)

    def wait_for(self, *events: Any) -> None:
        """Until these are all events there were."""
        wait_for(lambda: self.listener.events == list(events), 10, lambda: f"{events}: {self.listener.events}")

    def close(self) -> None:
        self.task.kill()
        self.channels.stop()

    def _made(self, spec: TaskSpec) -> LaunchedTask:
        return LaunchedTask("key", spec, self.listener, self.engine)  # type: ignore[arg-type]

    def _gone(self, task: LaunchedTask) -> None:
        self.gone += 1

    def _attached(self, channel: AttemptChannel, attach: Attach) -> None:
        self.task.serve_attempt(channel, attach)


@pytest.fixture
def socket_directory() -> Iterator[Path]:
    """Short enough for a socket's address."""
    with tempfile.TemporaryDirectory(prefix="headrace-test-") as directory:
        yield Path(directory)


@pytest.fixture
def launch(socket_directory: Path) -> Iterator[Launch]:
    made = Launch(socket_directory)
    yield made
    made.close()
