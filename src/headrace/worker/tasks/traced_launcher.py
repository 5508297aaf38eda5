# SPDX-License-Identifier: Apache-2.0
"""Spans of the starts of tasks, from the launch until the task polls, has failed or is stopped."""

from __future__ import annotations

from typing import Any, Final

from headrace.api.errors import ConfigError
from headrace.api.frames import FrameJob
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import SparkCores
from headrace.task.task_protocol import AnyRequest, Event, Failed, Paused, Running, Stopped
from headrace.task.task_spec import TaskSpec
from headrace.telemetry.tracing import Attributes, Span, Tracing
from headrace.worker.tasks.task_launcher import TaskHandle, TaskLauncher, TaskListener

_ERRORS: Final[dict[type[Event], str]] = {Failed: "failed", Stopped: "stopped"}
_ENDS: Final = (Running, Paused, *_ERRORS)


def with_traces(launcher: TaskLauncher, tracing: Tracing) -> TaskLauncher:
    """Return the launcher, with a span of each start if there are traces."""
    return launcher if tracing.provider is None else TracedLauncher(launcher, tracing)


class TracedLauncher:
    """A ``TaskLauncher`` in front of another."""

    def __init__(self, launcher: TaskLauncher, tracing: Tracing) -> None:
        self._launcher = launcher
        self._tracing = tracing

    def start(self) -> None:
        self._launcher.start()

    def launch(self, spec: TaskSpec, listener: TaskListener) -> TaskHandle:
        about: Attributes = {"headrace.connector": spec.id.connector, "headrace.task": spec.id.task}
        return self._launcher.launch(spec, _TracedStart(listener, self._tracing.begin("task start", about)))

    def cores(self) -> SparkCores | None:
        return self._launcher.cores()

    def analyse(self, job: FrameJob) -> ConfigError | None:
        return self._launcher.analyse(job)

    def run_job(self, job: FrameJob) -> None:
        self._launcher.run_job(job)

    def stop(self, timeout: float) -> None:
        self._launcher.stop(timeout)


class _TracedStart:
    """A ``TaskListener`` that ends the span with the first event that decides the start."""

    def __init__(self, listener: TaskListener, span: Span) -> None:
        self._listener = listener
        self._span: Span | None = span

    def on_event(self, task: ConnectorTaskId, event: Event) -> None:
        if self._span is not None and isinstance(event, _ENDS):
            self._span.end(error_type=_ERRORS.get(type(event)))
            self._span = None
        self._listener.on_event(task, event)

    def answer(self, task: ConnectorTaskId, request: AnyRequest) -> Any:
        return self._listener.answer(task, request)
