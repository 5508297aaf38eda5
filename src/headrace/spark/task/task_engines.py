# SPDX-License-Identifier: Apache-2.0
"""The engines of a worker: one that its connectors share, and one for each connector with an engine of its own.

An engine is one Spark application with its JVM. The end of one engine's JVM does not affect tasks of another.
"""

from __future__ import annotations

import itertools
import logging
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from headrace.logs.context import log_context
from headrace.spark.engine.slots import SlotWatch, WaitingTask
from headrace.spark.engine.spark_engine import SparkEngine
from headrace.spark.frames.frame_breaker import BreakerLimits, FrameBreaker
from headrace.spark.task.launched_task import LaunchedTask
from headrace.spark.task.shared_processes import SharedProcesses

log = logging.getLogger(__name__)
_STOP_TIMEOUT_S: Final = 40.0


class TaskEngine:
    """An engine with the tasks that run on it. Thread-safe."""

    def __init__(
        self, engine: SparkEngine, breaker: FrameBreaker, shared: SharedProcesses, directory: Path | None = None
    ) -> None:
        """``breaker`` counts this engine's deaths. ``directory`` is removed with it."""
        self.engine = engine
        self.breaker = breaker
        self._shared = shared
        self._directory = directory
        self._slots = SlotWatch(self._waiting, engine)
        self._lock = threading.Lock()
        self._tasks: dict[str, LaunchedTask] = {}

    def start(self) -> None:
        """Start Spark in the background; return at once."""
        self.engine.start()
        self._slots.start()

    def tasks(self) -> list[LaunchedTask]:
        with self._lock:
            return list(self._tasks.values())

    def add(self, task: LaunchedTask) -> None:
        with self._lock:
            self._tasks[task.key] = task

    def remove(self, task: LaunchedTask) -> None:
        with self._lock:
            self._tasks.pop(task.key, None)

    def send_log_levels(self, levels: Mapping[str, int]) -> None:
        """Send the worker's log levels, which have changed, to the JVM's process."""
        jvm = self.engine.current()
        if jvm is not None:
            jvm.send_log_levels(levels)

    def stop(self) -> None:
        """Stop the engine, and wait until its JVM has ended."""
        self._slots.stop()
        self.engine.stop()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _waiting(self) -> list[WaitingTask]:
        return [*(task for task in self.tasks() if not task.shares_process), *self._shared.waiting(self.engine)]


class OwnEngines:
    """The engines of single connectors: each is started with the connector's first task, and stopped with its last."""

    def __init__(
        self,
        directory: Path,
        limits: BreakerLimits,
        shared: SharedProcesses,
        engine_in: Callable[[str, Path], SparkEngine],
    ) -> None:
        """``engine_in`` makes a connector's engine, which keeps its files in a directory below ``directory``."""
        self._shared = shared
        self._directory = directory
        self._limits = limits
        self._engine_in = engine_in
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._engines: dict[str, TaskEngine] = {}
        self._users: dict[str, int] = {}
        self._breakers: dict[str, FrameBreaker] = {}
        self._stopping: list[threading.Thread] = []

    def acquire(self, connector: str) -> TaskEngine:
        """Return the connector's engine for one task, until ``release``. Does not block."""
        with self._lock:
            if connector not in self._engines:
                self._engines[connector] = self._start_engine(connector)
            self._users[connector] = self._users.get(connector, 0) + 1
            return self._engines[connector]

    def release(self, connector: str) -> None:
        """Release the engine for one task; without tasks it ends in the background. Does not block."""
        with self._lock:
            self._users[connector] -= 1
            if self._users[connector]:
                return
            del self._users[connector]
            thread = threading.Thread(target=self._engines.pop(connector).stop, name="stop-spark", daemon=True)
            self._stopping = [each for each in self._stopping if each.is_alive()] + [thread]
            thread.start()
        log.info("No task of connector %s is left: its own Spark application ends", connector)

    def engines(self) -> list[TaskEngine]:
        """Return the engines that are there now."""
        with self._lock:
            return list(self._engines.values())

    def await_stopped(self) -> None:
        """Stop all engines and wait for their ends, after all tasks have been released."""
        for engine in self.engines():
            engine.stop()
        with self._lock:
            left = list(self._stopping)
        for thread in left:
            thread.join(_STOP_TIMEOUT_S)

    def _start_engine(self, connector: str) -> TaskEngine:
        directory = self._directory / f"jvm-{next(self._numbers)}"
        directory.mkdir(mode=0o700)
        # A connector's deaths count on when its tasks have failed and are started again.
        breaker = self._breakers.setdefault(connector, FrameBreaker(self._limits))
        made = TaskEngine(self._engine_in(connector, directory), breaker, self._shared, directory)
        log.info("Connector %s gets a Spark application of its own", connector)
        with log_context(connector):
            made.start()
        return made
