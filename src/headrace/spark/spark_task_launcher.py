# SPDX-License-Identifier: Apache-2.0
"""``headrace.worker.task_launcher.TaskLauncher`` on Spark."""

from __future__ import annotations

import itertools
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from headrace.logs.loggers import Loggers
from headrace.spark.launched_task import LaunchedTask
from headrace.spark.messages import Attach
from headrace.spark.spark_engine import SparkEngine
from headrace.spark.task_channel import AttemptChannel, TaskChannels
from headrace.task.task_spec import TaskSpec
from headrace.worker.task_launcher import TaskHandle, TaskListener

_log = logging.getLogger(__name__)
_KILL_TIME = 5.0


class SparkTaskLauncher:
    """``spark`` are the worker's ``spark.*`` properties. Thread-safe."""

    def __init__(self, spark: Mapping[str, str], loggers: Loggers | None = None) -> None:
        """Tasks log what ``loggers``, the worker's, let through, now and after each change."""
        self._directory = Path(tempfile.mkdtemp(prefix="headrace-"))
        self._channels = TaskChannels(self._directory, self._attached)
        self._engine = SparkEngine(spark, self._directory, self._channels.address, self._channels.authkey)
        self._loggers = loggers or Loggers()
        self._loggers.on_change(self._send_log_levels)
        self._lock = threading.Lock()
        self._tasks: dict[str, LaunchedTask] = {}
        self._launches = itertools.count()

    def prepare(self) -> None:
        """Spark starts in the background, which takes seconds, while the rest of the worker is still being put
        together; ``start`` or ``stop`` has to follow."""
        self._engine.start()

    def start(self) -> None:
        """Returns at once; Spark starts in the background."""
        self._channels.start()
        self._engine.start()

    def launch(self, spec: TaskSpec, listener: TaskListener) -> TaskHandle:
        key = f"{spec.id}-{next(self._launches)}"
        task = LaunchedTask(key, spec, listener, self._engine, self._loggers)
        with self._lock:
            self._tasks[key] = task
        task.start(self._forget)
        return task

    def stop(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        with self._lock:
            tasks = list(self._tasks.values())
        for task in tasks:
            task.stop()
        for task in tasks:
            if not task.await_stopped(end - time.monotonic()):
                task.kill()
        for task in tasks:
            if not task.await_stopped(_KILL_TIME):
                _log.warning("the process of task %s could not be stopped", task.key)
        self._engine.stop()
        self._channels.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _attached(self, channel: AttemptChannel, attach: Attach) -> None:
        with self._lock:
            task = self._tasks.get(attach.key)
        if task is not None:
            task.attached(channel, attach)

    def _send_log_levels(self) -> None:
        """On a thread of its own: a process that stands still takes nothing."""
        with self._lock:
            tasks = list(self._tasks.values())

        def send() -> None:
            for task in tasks:
                task.send_log_levels()

        threading.Thread(target=send, name="log levels for tasks", daemon=True).start()

    def _forget(self, task: LaunchedTask) -> None:
        with self._lock:
            self._tasks.pop(task.key, None)
