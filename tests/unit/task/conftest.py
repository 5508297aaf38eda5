# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from headrace.api.record import SourceRecord
from headrace.api.schema import Schema
from headrace.config.connector_config import ErrorHandling
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import ProcessingContext
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.task_metrics import TaskMetrics
from headrace.task.worker_link import TaskControl

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

    def confirm_start(self) -> bool:
        self.heard.append("confirm")
        return self.go

    def read_offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return [self.offsets.get(str(partition)) for partition in partitions]

    def write_offsets(self, records: Mapping[bytes, bytes | None]) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.written.append(dict(records))

    def report_running(self) -> None:
        self.heard.append("running")

    def report_paused(self) -> None:
        self.heard.append("paused")

    def report_offsets_committed(self, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> None:
        self.heard.append(("offsets", list(offsets)))

    def report_topics_used(self, topics: Sequence[str]) -> None:
        self.heard.append(("topics", list(topics)))

    def report_metrics(self, values: Mapping[str, float]) -> None:
        self.heard.append(("metrics", dict(values)))


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


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
def record() -> MakeRecord:
    """Makes a record of topic ``t`` from its value and, unless given, its place in partition ``p``."""

    def make(value: object, position: int | None = 0, *, partition: Any = "p", **more: Any) -> SourceRecord:
        source = {"p": partition} if isinstance(partition, str) else partition
        offset = None if position is None else {"n": position}
        fields = {"topic": "t", "value_schema": Schema.STRING, "value": value, **more}
        return SourceRecord(source, offset, **fields)

    return make
