# SPDX-License-Identifier: Apache-2.0
"""One task on this worker: between the launcher that runs its attempts and those who want to know of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.task.task_spec import TaskSpec
from headrace.worker.callbacks import TaskCallbacks
from headrace.worker.failures import trace_of
from headrace.worker.status_listener import StatusListener
from headrace.worker.task_launcher import TaskHandle, TaskLauncher
from headrace.worker.task_phase import TaskEvent, TaskLife, TaskPhase, Tell

log = logging.getLogger(__name__)

Partition = Mapping[str, Any]
Offset = Mapping[str, Any]


class TaskOffsets(Protocol):
    """The source offsets of one task's connector."""

    def prepare(self) -> None:
        """Makes the connector's own offsets topic, if it has one and that is not there yet. Blocks; ConnectError."""

    def read(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        """Blocks for a read to the end of the offsets topics (invariant 3). RetriableError if that takes too long."""

    def committed(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Hears of offsets that have become visible; must not block."""


class SupervisedTask:
    """A ``TaskListener``. The launcher's threads and the worker's call it; the lock keeps statuses in order.

    The launcher's handle and ``TaskLauncher.launch`` do not block, so that they may be called under the lock.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        target: TargetState,
        offsets: TaskOffsets,
        status: StatusListener,
        callbacks: TaskCallbacks,
    ) -> None:
        self.id = id
        self.metrics_values: Mapping[str, float] = {}
        self.pid: int | None = None
        """Of the latest attempt."""
        self._target = target
        self._offsets = offsets
        self._status = status
        self._told: Mapping[Tell, Callable[[ConnectorTaskId], None]] = {
            Tell.STARTUP: status.on_startup,
            Tell.RUNNING: status.on_running,
            Tell.PAUSE: status.on_pause,
            Tell.SHUTDOWN: status.on_shutdown,
        }
        self._callbacks = callbacks
        self._life = TaskLife(id)
        self._handle: TaskHandle | None = None
        self._lock = threading.RLock()  # re-entrant: a launcher may tell something from within launch()

    @property
    def phase(self) -> TaskPhase:
        return self._life.phase

    # ---- for the worker

    def launch(self, make_spec: Callable[[], TaskSpec], launcher: TaskLauncher) -> None:
        """Makes the spec, which may import plugins and block, and launches, unless the task was stopped meanwhile."""
        try:
            spec = make_spec()
            with self._lock:
                if self.phase is TaskPhase.LAUNCHED:
                    self._handle = launcher.launch(replace(spec, target_state=self._target), self)
        except Exception as error:
            with self._lock:
                if self.phase is TaskPhase.LAUNCHED:
                    self._move(TaskEvent.FAILS, trace_of(error))

    def set_target_state(self, target: TargetState) -> None:
        """Pauses or resumes this and all later attempts. STOPPED is ``stop``'s business and pauses meanwhile."""
        with self._lock:
            if target is self._target:
                return
            self._target = target
            if self._handle is not None and target is TargetState.STARTED:
                self._handle.resume()
            elif self._handle is not None:
                self._handle.pause()

    def stop(self) -> None:
        """Asks for a graceful end. Returns at once. What was not launched yet will never be."""
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
        """After ``stop``: waits up to ``timeout`` seconds; True when no process of the task is left."""
        with self._lock:
            handle = self._handle
        return handle is None or handle.await_stopped(timeout)

    # ---- TaskListener

    def attempt_started(self, task: ConnectorTaskId, attempt: int, pid: int) -> None:
        self.pid = pid
        log.info("Task %s: attempt %d has process %d", task, attempt, pid)

    def confirm_start(self, task: ConnectorTaskId, attempt: int) -> bool:
        if self.phase in (TaskPhase.STOPPING, TaskPhase.STOPPED):
            return False
        self._offsets.prepare()
        return self._callbacks.still_mine(task)  # invariants 4 and 6

    def read_offsets(self, task: ConnectorTaskId, partitions: Sequence[Partition]) -> list[Offset | None]:
        return self._offsets.read(partitions)

    def running(self, task: ConnectorTaskId) -> None:
        self._move(TaskEvent.RUNS)

    def paused(self, task: ConnectorTaskId) -> None:
        self._move(TaskEvent.PAUSES)

    def offsets_committed(self, task: ConnectorTaskId, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        self._offsets.committed(offsets)

    def topics_used(self, task: ConnectorTaskId, topics: Sequence[str]) -> None:
        self._status.on_topics(task, topics)

    def metrics(self, task: ConnectorTaskId, values: Mapping[str, float]) -> None:
        self.metrics_values = values

    def reconfiguration_requested(self, task: ConnectorTaskId) -> None:
        self._callbacks.reconfigure(task.connector)

    def failed(self, task: ConnectorTaskId, trace: str) -> None:
        self._move(TaskEvent.FAILS, trace)

    def restarting(self, task: ConnectorTaskId, reason: str) -> None:
        self._move(TaskEvent.RESTARTS, reason)

    def stopped(self, task: ConnectorTaskId) -> None:
        self._move(TaskEvent.ENDS)

    def _move(self, event: TaskEvent, text: str = "") -> None:
        with self._lock:
            if event is TaskEvent.FAILS and self.phase is TaskPhase.STOPPING:
                log.warning("Task %s failed while it was stopping: %s", self.id, text)
            tell = self._life.move(event)
            if tell is Tell.FAILURE:
                self._status.on_failure(self.id, text)
            elif tell is Tell.RESTART:
                self._status.on_restart(self.id, text)
            elif tell is not Tell.NOTHING:
                self._told[tell](self.id)
