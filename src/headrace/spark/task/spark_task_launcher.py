# SPDX-License-Identifier: Apache-2.0
"""``headrace.worker.tasks.task_launcher.TaskLauncher`` on Spark."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.frames import FrameJob
from headrace.config.connector_config import FRAME_JOB_TIMEOUT, TASK_ISOLATION, TASKS_PER_PROCESS
from headrace.config.engine_config import EngineConfig
from headrace.inspection.preview.previews import FramesOffer
from headrace.logs.context import within
from headrace.logs.loggers import Loggers
from headrace.logs.printed import log_pipe
from headrace.model.info import SparkCores
from headrace.model.thread_switching import adapt_switch_interval
from headrace.plugins.builtin import JAVA_PREFIX
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.spark.channel.messages import Attach
from headrace.spark.channel.task_channel import AttemptChannel, TaskChannels
from headrace.spark.engine.master import is_local
from headrace.spark.engine.runtime_directory import RuntimeDirectory, scratch_directories
from headrace.spark.engine.shipment import Shipment, plugin_settings
from headrace.spark.engine.spark_engine import JvmStart, SparkEngine
from headrace.spark.engine.spark_settings import APP_NAME, LOCAL_DIRECTORIES, MASTER, ignored, interface, settings
from headrace.spark.frames.connector_jobs import analyse, run_in_worker
from headrace.spark.frames.frame_breaker import BreakerLimits, FrameBreaker
from headrace.spark.frames.frame_jobs import FrameLimits
from headrace.spark.frames.preview_engine import PreviewEngine, preview_settings
from headrace.spark.task.launched_task import LaunchedTask
from headrace.spark.task.shared_processes import SharedProcesses
from headrace.spark.task.task_engines import OwnEngines, TaskEngine
from headrace.task.task_spec import TaskSpec
from headrace.worker.tasks.task_launcher import TaskHandle, TaskListener

log = logging.getLogger(__name__)
_KILL_TIMEOUT_S = 5.0


class SparkTaskLauncher:
    """``TaskLauncher`` for tasks of this worker's process. Thread-safe."""

    def __init__(self, config: EngineConfig, loggers: Loggers | None = None) -> None:
        """``loggers`` are the worker's, whose levels tasks take over, now and after each change.

        Raises:
            ConfigError: tasks on the cluster could not reach this worker.
            ConnectError: no directory for temporary files can be made.
        """
        self._runtime = _runtime_directory()
        directory = self._runtime.path
        for property in ignored(config.spark):
            log.warning("The worker's property has no effect: %s", property)
        conf = settings(config.spark, directory, config.rest_guarded)
        local = is_local(conf[MASTER])
        # On a cluster the setting is for executors too, on machines without the worker's directories.
        self._scratch = scratch_directories(config.spark.get(LOCAL_DIRECTORIES, "")) if local else []
        if self._scratch:
            conf[LOCAL_DIRECTORIES] = ",".join(str(each.path) for each in self._scratch)
        self._shipment = None if local else Shipment(directory, config.plugin_path)
        try:
            self._channels = TaskChannels(directory if local else interface(conf, config), self._on_attach)
        except ConnectError:
            self._remove_directories()
            raise
        for each in (self._runtime, *self._scratch):
            each.remove_others()
        conf |= plugin_settings(config.plugin_path) if self._shipment is None else self._shipment.settings(conf)
        self._config, self._conf = config, conf
        limits = BreakerLimits(config.frame_deaths, config.frame_window)
        self._loggers = loggers or Loggers()
        self._processes = SharedProcesses(self._loggers, self._report_waiting)
        self._shared = TaskEngine(self._new_engine(conf, directory), FrameBreaker(limits), self._processes)
        self._own = OwnEngines(directory, limits, self._processes, self._own_engine)
        self._previews = PreviewEngine(directory, self._preview_engine)
        self._loggers.on_change(self._send_log_levels)
        self._lock = threading.Lock()
        self._tasks: dict[str, LaunchedTask] = {}
        self._launches = itertools.count()

    @property
    def directory(self) -> Path:
        """The directory of Spark's logs and temporary files, as long as the worker runs."""
        return self._runtime.path

    def prepare(self) -> None:
        """Start Spark in the background, which takes seconds, before the rest of the worker is ready.

        ``start`` or ``stop`` has to follow.
        """
        self._shared.engine.start()

    def start(self) -> None:
        """Accept tasks' processes, and start Spark in the background; return at once."""
        self._channels.start()
        self._shared.start()

    def launch(self, spec: TaskSpec, listener: TaskListener) -> TaskHandle:
        key = f"{spec.id}-{next(self._launches)}"
        if self._shipment is not None:
            spec = self._shipment.relocated(spec)
        own = self._isolation(spec) == "connector"
        on = self._own.acquire(spec.id.connector) if own else self._shared
        on.breaker.launched(spec.id.connector)
        shared_by = self._tasks_per_process(spec)
        jobs = self._processes.jobs(on.engine, shared_by) if shared_by > 1 else None
        task = LaunchedTask(key, spec, listener, on.engine, self._loggers, self._limits(spec, on.breaker), jobs)
        with self._lock:
            self._tasks[key] = task
            adapt_switch_interval(len(self._tasks))
        on.add(task)

        def gone(task: LaunchedTask) -> None:
            with self._lock:
                self._tasks.pop(task.key, None)
                adapt_switch_interval(len(self._tasks))
            on.remove(task)
            if own:
                self._own.release(spec.id.connector)

        task.start(gone)
        return task

    def trouble(self) -> str | None:
        """Return the reason why no task can run now; None if Spark is up, or is starting without an error yet.

        This is for the engine that connectors share: of others, their connectors' tasks report it.
        """
        return self._shared.engine.trouble()

    def cores(self) -> SparkCores | None:
        found = self._shared.engine.cores()
        return None if found is None else SparkCores(found.executors, found.total, found.busy)

    def analyse(self, job: FrameJob) -> ConfigError | None:
        return analyse(self._shared.engine, job)

    def run_job(self, job: FrameJob) -> None:
        run_in_worker(self._shared.engine, job)

    def preview_frames(self, until: float) -> AbstractContextManager[FramesOffer | None]:
        """Offer Spark to the process of a preview within the block; see ``PreviewEngine.offered``."""
        return self._previews.offered(until)

    def stop(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        tasks = self._launched()
        for task in tasks:
            task.stop()
        for task in tasks:
            if not task.await_stopped(end - time.monotonic()):
                task.kill()
        for task in tasks:
            if not task.await_stopped(_KILL_TIMEOUT_S):
                log.warning("the process of task %s could not be stopped", task.key)
        self._shared.stop()
        self._previews.stop()
        self._own.await_stopped()
        self._channels.stop()
        self._remove_directories()

    def _new_engine(self, conf: Mapping[str, str], directory: Path, *, hosted: bool = False) -> SparkEngine:
        return SparkEngine(conf, directory, self._channels.endpoint, self._shipment, self._jvm_start(hosted))

    def _preview_engine(self, directory: Path) -> SparkEngine:
        config = self._config
        conf = settings(preview_settings(config.spark), directory, config.rest_guarded)
        conf |= plugin_settings(config.plugin_path)
        return SparkEngine(conf, directory, self._channels.endpoint, jvm_start=self._jvm_start(hosted=True))

    def _jvm_start(self, hosted: bool) -> JvmStart:
        config = self._config
        return JvmStart(config.plugin_path, config.console, config.start_timeout, hosted=hosted)

    def _own_engine(self, connector: str, directory: Path) -> SparkEngine:
        conf = {**self._conf, APP_NAME: f"{self._conf[APP_NAME]}: {connector}"}
        return self._new_engine(conf, directory, hosted=True)

    def _isolation(self, spec: TaskSpec) -> str:
        return spec.connector_config.get(TASK_ISOLATION) or self._config.isolation

    def _tasks_per_process(self, spec: TaskSpec) -> int:
        """Return the number of tasks that share the process of this one; those in Java have one each."""
        if spec.task_class.startswith(JAVA_PREFIX):
            return 1
        own = spec.connector_config.get(TASKS_PER_PROCESS)
        return self._config.tasks_per_process if own is None else int(own)

    def _limits(self, spec: TaskSpec, breaker: FrameBreaker) -> FrameLimits:
        own, config = spec.connector_config.get(FRAME_JOB_TIMEOUT), self._config
        timeout = config.frame_timeout if own is None else int(own) / 1000
        whose = f"task {spec.id.task} of connector {spec.id.connector}"
        results = ResultLimit(config.frame_result_bytes, config.frame_result_rows, whose)
        return FrameLimits(spec.id.connector, breaker, timeout, results)

    def _remove_directories(self) -> None:
        for each in (self._runtime, *self._scratch):
            each.remove()

    def _on_attach(self, channel: AttemptChannel, attach: Attach) -> None:
        with self._lock:
            task = self._tasks.get(attach.key)
        if (printed := channel.take_printed()) is not None:
            log_printed = partial(log_pipe, printed)
            work = log_printed if task is None else within(task.id, log_printed)
            threading.Thread(target=work, name=f"printed-{attach.key}", daemon=True).start()
        if task is None:
            self._processes.serve(channel, attach)
        else:
            with self._processes.serving(task.key):
                task.serve_attempt(channel, attach)

    def _report_waiting(self, key: str, reason: str) -> None:
        with self._lock:
            task = self._tasks.get(key)
        if task is not None:
            task.report_waiting(reason)

    def _launched(self) -> list[LaunchedTask]:
        with self._lock:
            return list(self._tasks.values())

    def _send_log_levels(self) -> None:
        """Send the worker's log levels to all processes, on a thread of its own: one that hangs may block it."""
        tasks = self._launched()

        def send() -> None:
            self._processes.send_log_levels()
            for engine in self._own.engines():
                engine.send_log_levels(self._loggers.set_levels())
            for task in tasks:
                task.send_log_levels()

        threading.Thread(target=send, name="log levels for tasks", daemon=True).start()


def _runtime_directory() -> RuntimeDirectory:
    try:
        return RuntimeDirectory()
    except OSError as error:
        raise ConnectError(
            f"No directory for temporary files can be made: {error}; free space there, or name another place by TMPDIR"
        ) from error
