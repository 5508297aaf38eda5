# SPDX-License-Identifier: Apache-2.0
"""One task on this worker: between the launcher, which runs its attempts, and the listeners of its status."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from headrace.api.errors import RetriableError
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import SparkAttempt
from headrace.model.state import TargetState
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.task.worker_task import Outcome
from headrace.worker.callbacks import StatusListener, TaskCallbacks
from headrace.worker.failures import trace_of
from headrace.worker.offsets.task_offsets import Offset, Partition, TaskOffsets
from headrace.worker.tasks.task_figures import TaskFigures
from headrace.worker.tasks.task_launch import TaskLaunch
from headrace.worker.tasks.task_launcher import TaskHandle, TaskLauncher
from headrace.worker.tasks.task_phase import StatusCall, TaskEvent, TaskLife, TaskPhase

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
    ) -> None:
        self.id = id
        self.figures = TaskFigures()
        self.pid: int | None = None
        """The process of the latest attempt."""
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
                    self._move(TaskEvent.FAILS, trace_of(error))
            return None

    def _still_ours(self) -> bool:
        """Return false if another worker has the task by now: ``init_transactions`` could fence a successor (KIP-618).

        Called before a process exists. If it is not known the start may go on: the attempt confirms it before it polls
        (invariant 4).
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
        """End the running attempt, so that the task can be launched anew; kill it after ``patience`` seconds.

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
        """Make the task report the topics in use anew; blocks while its process takes nothing."""
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

    def attempt_started(self, task: ConnectorTaskId, attempt: int, pid: int) -> None:
        self.pid = pid
        self.figures.attempt_started(attempt)
        log.info("Task %s: attempt %d has process %d", task, attempt, pid)

    def confirm_start(self, task: ConnectorTaskId, attempt: int) -> bool:
        if self.phase in (TaskPhase.STOPPING, TaskPhase.STOPPED):
            return False
        self._offsets_now().prepare()
        return self._callbacks.owns_task_generation(task)  # invariants 4 and 6

    def read_offsets(self, task: ConnectorTaskId, partitions: Sequence[Partition]) -> list[Offset | None]:
        return self._offsets_now().read(partitions)

    def write_offsets(self, task: ConnectorTaskId, records: Mapping[bytes, bytes | None]) -> None:
        self._offsets_now().write(records)

    def running(self, task: ConnectorTaskId) -> None:
        self._move(TaskEvent.RUNS)

    def paused(self, task: ConnectorTaskId) -> None:
        self._move(TaskEvent.PAUSES)

    def offsets_committed(self, task: ConnectorTaskId, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        self._offsets_now().committed(offsets)

    def topics_used(self, task: ConnectorTaskId, topics: Sequence[str]) -> None:
        self._status.on_topics(task, topics)

    def metrics(self, task: ConnectorTaskId, values: Mapping[str, float]) -> None:
        self.figures.reported(values)

    def reconfiguration_requested(self, task: ConnectorTaskId) -> None:
        self._callbacks.request_task_reconfiguration(task.connector)

    def failed(self, task: ConnectorTaskId, trace: str) -> None:
        self._move(TaskEvent.FAILS, trace)

    def restarting(self, task: ConnectorTaskId, reason: str, outcome: Outcome | None = None) -> None:
        self.figures.ended(outcome)
        self._move(TaskEvent.RESTARTS, reason)

    def waiting(self, task: ConnectorTaskId, reason: str) -> None:
        self.figures.waiting = True
        self._move(TaskEvent.WAITS, reason)

    def stopped(self, task: ConnectorTaskId) -> None:
        with self._lock:
            if self._reloading and self.phase in _ALIVE:
                self._handle = None  # whoever stops the task now need not wait for a process
            else:
                self._move(TaskEvent.ENDS)

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
