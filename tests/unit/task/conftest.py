# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from headrace.api.record import SourceRecord
from headrace.api.schema import Schema
from headrace.config.connector_config import ErrorHandling
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import ProcessingContext
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_protocol import (
    ConfirmStart,
    Metrics,
    OffsetsCommitted,
    ProcessEvent,
    ReadOffsets,
    Request,
    TopicsUsed,
    WriteOffsets,
)
from headrace.task.worker_link import TaskControl
from tests.unit.clock import Clock
from tests.unit.task.source_stage import Stage

MakeRecord = Callable[..., SourceRecord]


class HeardLink:
    """A WorkerLink whose worker is here, says GO, and remembers; ``offsets`` are what it has committed."""

    frames: Any = None

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.go = True
        self.offsets: dict[str, Mapping[str, Any]] = {}
        self.refusal: Exception | None = None
        self.written: list[dict[bytes, bytes | None]] = []

    def send(self, event: ProcessEvent) -> None:
        match event:
            case OffsetsCommitted(offsets):
                self.heard.append(("offsets", list(offsets)))
            case TopicsUsed(topics):
                self.heard.append(("topics", list(topics)))
            case Metrics(values):
                self.heard.append(("metrics", dict(values)))
            case _:
                self.heard.append(type(event).__name__.lower())

    def ask(self, request: Request[Any]) -> Any:
        match request:
            case ConfirmStart():
                self.heard.append("confirm")
                return self.go
            case ReadOffsets(partitions):
                return [self.offsets.get(str(partition)) for partition in partitions]
            case WriteOffsets(records):
                if self.refusal is not None:
                    raise self.refusal
                self.written.append(dict(records))
        return None


@pytest.fixture
def link() -> HeardLink:
    return HeardLink()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def control() -> TaskControl:
    return TaskControl()


@pytest.fixture
def plugins() -> Plugins:
    return Plugins()


class Errors:
    """Error handling on a clock of its own: ``waited`` are the waits, ``reported`` the failures that stand.

    Called, it makes a ``RetryWithTolerance`` without jitter; before each return of a wait ``on_wait`` is called.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.waited: list[float] = []
        self.reported: list[ProcessingContext[Any]] = []
        self.on_wait: Callable[[], bool] = lambda: False
        self.figures: dict[str, float] = {}
        self.metrics = TaskMetrics(self.figures.update, clock)

    def __call__(self, **config: Any) -> RetryWithTolerance[Any]:
        handling = ErrorHandling(**{"tolerates": True, **config})
        return RetryWithTolerance(handling, [self], self.metrics, self._wait, self.clock, lambda: 1.0)

    def report(self, context: ProcessingContext[Any]) -> None:
        self.reported.append(context)

    def _wait(self, seconds: float) -> bool:
        self.waited.append(round(seconds, 6))
        self.clock.now += seconds
        return self.on_wait()


@pytest.fixture
def errors(clock: Clock) -> Errors:
    return Errors(clock)


@pytest.fixture
def stage(link: HeardLink, clock: Clock, control: TaskControl, plugins: Plugins, errors: Errors) -> Stage:
    return Stage(link, clock, control, plugins, errors)


@pytest.fixture
def record() -> MakeRecord:
    """Makes a record of topic ``t`` from its value and, unless given, its place in partition ``p``."""

    def make(value: object, position: int | None = 0, *, partition: Any = "p", **more: Any) -> SourceRecord:
        source = {"p": partition} if isinstance(partition, str) else partition
        offset = None if position is None else {"n": position}
        fields = {"topic": "t", "value_schema": Schema.STRING, "value": value, **more}
        return SourceRecord(source, offset, **fields)

    return make
