# SPDX-License-Identifier: Apache-2.0
"""One task on this worker: between the launcher, which runs its attempts, and the listeners of its status."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, assert_never

from headrace.api.datasets import Fields
from headrace.api.errors import ConnectError, RetriableError
from headrace.model.cluster_config_state import Config
from headrace.model.health import Handling, Stage, TaskError
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import SparkAttempt
from headrace.model.state import TargetState
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.task.errors.task_errors import task_error
from headrace.task.task_protocol import (
    AnyRequest,
    AttemptStarted,
    ConfirmStart,
    ErrorMet,
    Event,
    Failed,
    Measured,
    Metrics,
    OffsetsCommitted,
    Paused,
    ReadOffsets,
    Restarting,
    Running,
    SchemasSeen,
    Stopped,
    TopicsUsed,
    Waiting,
    WriteOffsets,
)
from headrace.worker.callbacks import StatusListener, TaskCallbacks
from headrace.worker.offsets.task_offsets import TaskOffsets
from headrace.worker.stages import trace_of
from headrace.worker.tasks.task_figures import TaskFigures
from headrace.worker.tasks.task_launch import TaskLaunch
from headrace.worker.tasks.task_launcher import TaskHandle, TaskLauncher
from headrace.worker.tasks.task_phase import StatusCall, TaskEvent, TaskLife, TaskPhase
from headrace.worker.tasks.task_record import TaskRecord

log = logging.getLogger(__name__)

_ALIVE: Final = (TaskPhase.LAUNCHED, TaskPhase.RUNNING, TaskPhase.PAUSED, TaskPhase.RESTARTING)
_REMIND_S: Final = 10.0
"""Seconds between attempts to kill a process that survives its killing."""


class SupervisedTask:
    """A ``TaskListener``. The launcher's threads and the worker's call it; the lock keeps statuses in order.

    The launcher's handle and ``TaskLauncher.launch`` do not block, so that they may be called under the lock.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        target: TargetState,
        status: StatusListener,
        callbacks: TaskCallbacks,
        configs: tuple[Config, Config] = ({}, {}),
    ) -> None:
        """``configs``: the connector's and the task's, as they are in the config topic."""
        self.id = id
        self.configs = configs
        self.figures = TaskFigures()
        self.record = TaskRecord()
        self.pid: int | None = None
        """The process of the latest attempt."""
        self.schemas: Mapping[str, Fields] = {}
        """The schemas of its records by topic; empty without lineage."""
        self._target = target
        self._offsets: TaskOffsets | None = None
        self._hide: Callable[[str], str] = str
        self._reloading = False
        self._status = status
        self._status_calls: Mapping[StatusCall, Callable[[ConnectorTaskId], None]] = {
            StatusCall.STARTUP: status.on_startup,
            StatusCall.RUNNING: status.on_running,
            StatusCall.PAUSE: status.on_pause,
            StatusCall.SHUTDOWN: status.on_shutdown,
        }
        self._callbacks = callbacks
        self._life = TaskLife(id)
        self._handle: TaskHandle | None = None
        self._lock = threading.RLock()  # re-entrant: a launcher may report something from within launch()

    @property
    def phase(self) -> TaskPhase:
        return self._life.phase

    # ---- for the worker

    def values(self) -> dict[str, float]:
        """Return the task's figures, by name."""
        offsets = self._offsets
        return {**self.figures.values(), **(offsets.figures() if offsets is not None else {})}

    def ask_progress(self) -> None:
        """Ask the process, if there is one, for its progress. Does not block."""
        with self._lock:
            handle = self._handle
        if handle is not None and self.phase in _ALIVE and self.record.ask():
            handle.measure()

    def keep_facts(self, former: TaskRecord) -> None:
        """Continue with the facts of a former start of this task, to be called before ``launch``."""
        self.record = former
        self.record.launched()

    def launch(self, build: Callable[[], TaskLaunch], launcher: TaskLauncher) -> ResolvedConfig | None:
        """Build the launch, which may import plugins and block, and start it unless the task was stopped meanwhile.

        Return the configuration that it runs with from now on; None if it does not run.
        """
        try:
            launch = build()
            if launch.spec.exactly_once and not self._still_ours():
                log.info("Task %s is not started: it has newer task configs, or is another worker's now", self.id)
                return None
            self._open(launch.offsets)
            with self._lock:
                if self.phase not in _ALIVE or self._handle is not None:
                    return None
                self._offsets, self._hide = launch.offsets, launch.config.hide
                self._handle = launcher.launch(replace(launch.spec, target_state=self._target), self)
            return launch.config
        except Exception as error:
            with self._lock:
                if self.phase in _ALIVE:
                    trace = trace_of(error)
                    log.error("Task %s cannot be started: %s", self.id, self._hide(trace.rstrip().rpartition("\n")[2]))
                    self._keep(task_error(error, Stage.STARTING, Handling.FAILED))
                    self._move(TaskEvent.FAILS, trace)
            return None

    def _still_ours(self) -> bool:
        """Return false if another worker has the task by now: ``init_transactions`` could fence a successor (KIP-618).

        Called before a process exists. If it is not known the start may continue: the attempt confirms it before it
        polls (invariant 4).
        """
        try:
            return self._callbacks.owns_task_generation(self.id)
        except RetriableError as error:
            log.warning("Whether task %s may still start here is not known: %s", self.id, error)
            return True

    def _open(self, offsets: TaskOffsets) -> None:
        """Open the topics before a producer exists that would fence a former attempt in vain (KIP-618).

        A retriable error is not waited for here, where no status could show it: each attempt tries again.
        """
        try:
            offsets.open()
        except RetriableError as error:
            log.warning("The offsets topic of task %s cannot be used yet: %s", self.id, error)

    def end_attempts(self, reason: str, patience: float) -> bool:
        """End the running attempt, so that the task can be launched again; kill it after ``patience`` seconds.

        Blocks until no process is left. Return false if there is nothing to launch: it has failed or is stopped.
        """
        with self._lock:
            handle = self._handle
            if handle is None or self.phase not in _ALIVE:
                return False
            self._reloading = True
            self._move(TaskEvent.RESTARTS, reason)
            handle.stop()
        while not handle.await_stopped(patience):
            handle.kill()
            patience = _REMIND_S
        with self._lock:
            self._reloading = False
            return self.phase in _ALIVE and self._handle is None

    def set_target_state(self, target: TargetState) -> None:
        """Pause or resume this and all later attempts. STOPPED pauses only; ``stop`` ends the task."""
        with self._lock:
            if target is self._target:
                return
            self._target = target
            if self._handle is not None and target is TargetState.STARTED:
                self._handle.resume()
            elif self._handle is not None:
                self._handle.pause()

    def stop(self) -> None:
        """Request a graceful end; return at once. A task not launched yet is never launched."""
        with self._lock:
            self._life.move(TaskEvent.STOP)
            if self._handle is not None:
                self._handle.stop()
            elif self.phase is TaskPhase.STOPPING:
                self._move(TaskEvent.ENDS)

    def kill(self) -> None:
        with self._lock:
            if self._handle is not None:
                self._handle.kill()

    def await_gone(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds after ``stop``; return true when no process of the task is left."""
        with self._lock:
            handle = self._handle
        return handle is None or handle.await_stopped(timeout)

    def forget_topics(self) -> None:
        """Make the task report the topics in use again; blocks while its process takes nothing."""
        with self._lock:
            handle = self._handle
        if handle is not None:
            handle.forget_topics()

    def spark_attempt(self) -> SparkAttempt | None:
        """Return the attempt that Spark runs now; asks Spark."""
        with self._lock:
            handle = self._handle
        return handle.spark_attempt() if handle is not None else None

    # ---- TaskListener

    def on_event(self, task: ConnectorTaskId, event: Event) -> None:
        match event:
            case Running():
                self._move(TaskEvent.RUNS)
            case Paused():
                self._move(TaskEvent.PAUSES)
            case OffsetsCommitted(offsets):
                self._offsets_now().committed(offsets)
            case TopicsUsed(topics):
                self._status.on_topics(task, topics)
            case Metrics(values, progress, steps):
                self.figures.reported(values)
                if progress is not None:
                    self.record.measured(progress)
                self.record.reported(values, steps)
            case Measured(progress):
                self.record.measured(progress)
                self.record.answered()
            case ErrorMet(error):
                self._keep(error)
            case SchemasSeen(schemas):
                self.schemas = schemas
            case AttemptStarted(attempt, pid):
                self.pid = pid
                self.figures.attempt_started(attempt)
                self.record.attempt_started(attempt)
                log.info("Task %s: attempt %d has process %d", task, attempt, pid)
            case Failed(trace, error):
                self._keep(error or self._error_of(trace, Handling.FAILED))
                self._move(TaskEvent.FAILS, trace)
            case Restarting(reason, outcome, error):
                self._keep(error or self._error_of(reason, Handling.RETRIED))
                self.figures.ended(outcome)
                self.record.ended(self._hide(reason))
                self._move(TaskEvent.RESTARTS, reason)
            case Waiting(reason):
                self.figures.waiting = True
                self.record.waiting()
                self._move(TaskEvent.WAITS, reason)
            case Stopped():
                self.record.gone()
                self._end()
            case _:
                assert_never(event)

    def answer(self, task: ConnectorTaskId, request: AnyRequest) -> Any:
        match request:
            case ConfirmStart():
                return self._may_poll()
            case ReadOffsets(partitions):
                return self._offsets_now().read(partitions)
            case WriteOffsets(records):
                return self._offsets_now().write(records)
            case _:
                assert_never(request)

    def _may_poll(self) -> bool:
        if self.phase in (TaskPhase.STOPPING, TaskPhase.STOPPED):
            return False
        self._offsets_now().prepare()
        return self._callbacks.owns_task_generation(self.id)  # invariants 4 and 6

    def _end(self) -> None:
        with self._lock:
            if self._reloading and self.phase in _ALIVE:
                self._handle = None  # a stop of the task need not wait for a process from now on
            else:
                self._move(TaskEvent.ENDS)

    def _keep(self, error: TaskError) -> None:
        hint, position = None if error.hint is None else self._hide(error.hint), _hidden(error.position, self._hide)
        self.record.met(replace(error, message=self._hide(error.message), hint=hint, position=position))

    def _error_of(self, reason: str, handling: Handling) -> TaskError:
        """Return the error of an attempt that has reported none, as its process or Spark was lost."""
        return task_error(ConnectError(reason.partition("\n")[0]), self.record.stage, handling)

    def _offsets_now(self) -> TaskOffsets:
        assert self._offsets is not None  # attempts, which need them, come after the launch
        return self._offsets

    def _move(self, event: TaskEvent, text: str = "") -> None:
        text = self._hide(text)
        with self._lock:
            if event is TaskEvent.FAILS and self.phase is TaskPhase.STOPPING:
                log.warning("Task %s failed while it was stopping: %s", self.id, text)
            call = self._life.move(event)
            if call is StatusCall.FAILURE:
                self._status.on_failure(self.id, text)
            elif call is StatusCall.RESTART:
                self._status.on_restart(self.id, text)
            elif call is not StatusCall.NONE:
                self._status_calls[call](self.id)


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:
    """Return a record's position with all its texts hidden."""
    if isinstance(value, Mapping):
        return {hide(name): _hidden(each, hide) for name, each in value.items()}
    return hide(value) if isinstance(value, str) else value
