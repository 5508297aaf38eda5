# SPDX-License-Identifier: Apache-2.0
"""The link of a task's process with its worker, whatever carries it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from headrace.api.frames import Frames
from headrace.task.task_progress import TaskProgress
from headrace.task.task_protocol import A, ProcessEvent, Request


class WorkerLink(Protocol):
    """The way to the worker, for the task's thread and those that its code starts."""

    @property
    def frames(self) -> Frames:
        """Runs jobs on DataFrames through the worker."""

    def send(self, event: ProcessEvent) -> None:
        """Report an event, without an answer."""

    def ask(self, request: Request[A]) -> A:
        """Return the worker's answer, for which this blocks.

        Raises:
            ConfigError: the worker refuses, until a user changes something.
            RetriableKafkaError: the worker could not find the answer out now.
        """


class TaskControl:
    """The worker's requests. Set by the thread that listens to the worker, read by the task's thread.

    ``progress`` goes the other way: the listener measures it when the worker asks.
    """

    def __init__(self, report_interval: float = 1.0) -> None:
        """``report_interval`` is the least number of seconds between two reports of the task's metrics."""
        self.report_interval = report_interval
        self.progress = TaskProgress()
        self._changed = threading.Condition()
        self._stopping = False
        self._paused = False
        self._on_stop: Callable[[], None] | None = None
        self._on_pause: Callable[[], None] | None = None

    @property
    def stopping(self) -> bool:
        return self._stopping

    @property
    def paused(self) -> bool:
        return self._paused

    def stop(self) -> None:
        """Ask the task to end; calls the hook of ``on_stop`` once, on this thread."""
        with self._changed:
            first, self._stopping = not self._stopping, True
            hook = self._on_stop
            self._changed.notify_all()
        if first and hook is not None:
            hook()

    def set_paused(self, paused: bool) -> None:
        """Ask the task to pause or to resume; a pause calls the hook of ``on_pause``, on this thread."""
        with self._changed:
            begins, self._paused = paused and not self._paused, paused
            hook = self._on_pause
            self._changed.notify_all()
        if begins and hook is not None:
            hook()

    def on_stop(self, hook: Callable[[], None]) -> bool:
        """Have ``hook`` called once when a stop is asked for. Return False, and never call it, if that was before."""
        with self._changed:
            self._on_stop = hook
            return not self._stopping

    def on_pause(self, hook: Callable[[], None]) -> None:
        """Have ``hook`` called whenever a pause is asked for from now on. It must not block."""
        self._on_pause = hook

    def wait_while_paused(self, seconds: float | None = None) -> bool:
        """Block until the task may poll again or is to stop; return False if it is still paused after ``seconds``."""
        with self._changed:
            return self._changed.wait_for(lambda: self._stopping or not self._paused, seconds)

    def wait_for_stop(self, seconds: float) -> bool:
        """Wait for so many seconds; return True as soon as a stop is asked for."""
        with self._changed:
            return self._changed.wait_for(lambda: self._stopping, seconds)
