# SPDX-License-Identifier: Apache-2.0
"""Blocking work of plugins: named stages, for messages that name what hangs; threads that run it; how it fails."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

from headrace.api.error_text import error_line, error_text, error_trace
from headrace.api.errors import ConfigError, ConnectError
from headrace.logs.context import within
from headrace.model.deadline import Clock

T = TypeVar("T")


class Stages:
    """The named stages that threads are in. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._current: dict[int, tuple[str, float]] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Name the calling thread's work until the end of the block: "start of connector x"."""
        number = next(self._numbers)
        with self._lock:
            self._current[number] = (name, self._clock())
        try:
            yield
        finally:
            with self._lock:
                del self._current[number]

    def longer_than(self, seconds: float) -> list[str]:
        """Return the stages that have taken so long already, the longest first: "start of connector x since 12 s"."""
        now = self._clock()
        with self._lock:
            current = sorted(self._current.values(), key=lambda stage: stage[1])
        return [f"{name} since {now - since:.0f} s" for name, since in current if now - since >= seconds]

    def run_in_background(self, name: str, work: Callable[[], T]) -> Future[T]:
        """Do ``work`` on a thread of its own, as the stage ``name``. Return at once.

        The thread is a daemon: work that never ends does not keep the process alive.
        """
        future: Future[T] = Future()
        threading.Thread(target=self._work, args=(future, name, work), name=name, daemon=True).start()
        return future

    def _work(self, future: Future[T], name: str, work: Callable[[], T]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        with self.stage(name):
            try:
                result = work()
            except BaseException as error:
                # The waiter for the result must survive it, an event loop among them.
                future.set_exception(as_exception(error))
            else:
                future.set_result(result)


class SerialExecutor:
    """One daemon thread that does work in the order of submission. Thread-safe."""

    def __init__(self, name: str, stages: Stages, log_as: str | None = None) -> None:
        """Start the thread. ``log_as``: the connector that the thread's log lines are about."""
        self._stages = stages
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        loop = self._loop if log_as is None else within(log_as, self._loop)
        threading.Thread(target=loop, name=name, daemon=True).start()

    def submit(self, stage: str, work: Callable[[], T]) -> Future[T]:
        """Queue ``work`` as the stage ``stage``; return at once. Work submitted after ``close`` is never done."""
        future: Future[T] = Future()
        self._queue.put(lambda: self._stages._work(future, stage, work))
        return future

    def close(self) -> None:
        """End the thread when all that was submitted before is done. Return at once."""
        self._queue.put(None)

    def _loop(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            del work  # with all that it refers to, while the thread waits for the next


class PluginExitError(ConnectError):
    """Code of a plugin raised what is no ``Exception``: SystemExit, KeyboardInterrupt or another one of its kind."""


def trace_of(error: BaseException) -> str:
    """Return the trace of a FAILED status: the reason, and except for a ConfigError the stack trace."""
    reason = error_text(error) if isinstance(error, ConnectError) else error_line(error)
    return reason if isinstance(error, ConfigError) else f"{reason}\n{error_trace(error)}"


def as_exception(error: BaseException) -> Exception:
    """Return the error itself, or a PluginExitError in place of one that would end any thread and event loop."""
    if isinstance(error, Exception):
        return error
    wrapped = PluginExitError(f"code of a plugin has raised {error_line(error)}")
    wrapped.__cause__ = error
    return wrapped
