# SPDX-License-Identifier: Apache-2.0
"""The tasks of one worker."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Final, NamedTuple

from headrace.api.datasets import Fields
from headrace.api.errors import ConnectError
from headrace.logs.context import within
from headrace.model.cluster_config_state import Config
from headrace.model.deadline import Clock, Deadline
from headrace.model.health import Handling, TaskFacts
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import SparkAttempt
from headrace.model.state import TargetState
from headrace.model.step_counts import StepCounts
from headrace.worker.runnable_configs import After, ConfigWatch
from headrace.worker.stages import Stages
from headrace.worker.tasks.supervised_task import SupervisedTask
from headrace.worker.tasks.task_launch import TaskLaunch
from headrace.worker.tasks.task_launcher import TaskLauncher
from headrace.worker.tasks.task_record import TaskRecord

log = logging.getLogger(__name__)

_REMIND_S: Final = 10.0
"""Seconds between log lines about a task that survives its killing."""
_ANSWER_S: Final = 0.5
"""Seconds that the processes of tasks have to answer; a task's thread that blocks does not keep them from it."""
_FORMER: Final = 1_000
"""Number of ended tasks whose facts are kept."""


class _Former(NamedTuple):
    """The facts about a task that has ended here; ``configs`` are those that it was started with."""

    record: TaskRecord
    configs: tuple[Config, Config]

    @property
    def has_failed(self) -> bool:
        error = self.record.last_error
        return error is not None and error.handling is Handling.FAILED


class WorkerTasks:
    """A registry that launches, finds and stops tasks. Thread-safe; nothing here blocks."""

    def __init__(
        self, launcher: TaskLauncher, graceful_timeout: float, stages: Stages, clock: Clock, after: After
    ) -> None:
        self._launcher = launcher
        self._graceful_timeout = graceful_timeout
        self._stages = stages
        self._clock = clock
        self._after = after
        self._lock = threading.Lock()
        self._tasks: dict[ConnectorTaskId, SupervisedTask] = {}
        self._watches: dict[ConnectorTaskId, ConfigWatch] = {}
        self._former: dict[ConnectorTaskId, _Former] = {}
        """Of tasks that have ended here, whose last facts stay; the newest few."""

    def ids(self) -> frozenset[ConnectorTaskId]:
        """Return the tasks that were started and not yet stopped, failed ones too."""
        with self._lock:
            return frozenset(self._tasks)

    def metrics(self) -> Mapping[ConnectorTaskId, Mapping[str, float]]:
        """Return the latest figures of each task, and the counts of its attempts' ends."""
        with self._lock:
            tasks = dict(self._tasks)
        return {id: task.values() for id, task in tasks.items()}

    def steps(self) -> Mapping[ConnectorTaskId, Sequence[StepCounts]]:
        """Return the latest counts of each task's steps."""
        with self._lock:
            tasks = dict(self._tasks)
        return {id: task.record.steps for id, task in tasks.items()}

    def facts(self, connector: str | None) -> Mapping[ConnectorTaskId, TaskFacts]:
        """Return the facts for the health of a connector's tasks, or of all; also of tasks that were here last.

        Asks the processes, and waits for the answers for a moment.
        """
        with self._lock:
            tasks = {id: task for id, task in self._tasks.items() if connector in (None, id.connector)}
            records = {id: former.record for id, former in self._former.items() if connector in (None, id.connector)}
        for task in tasks.values():
            task.ask_progress()
        deadline = Deadline.after(_ANSWER_S, self._clock)
        for id, task in tasks.items():
            task.record.await_answer(deadline.remaining())
            records[id] = task.record
        return {id: record.facts() for id, record in records.items()}

    def schemas(self) -> Mapping[ConnectorTaskId, Mapping[str, Fields]]:
        """Return the schemas of each task's records by topic."""
        with self._lock:
            return {id: task.schemas for id, task in self._tasks.items()}

    def spark_attempts(self, connector: str) -> Mapping[int, SparkAttempt]:
        """Return the Spark attempts of a connector's tasks, by their numbers; asks Spark."""
        found = ((task.id.task, task.spark_attempt()) for task in self._tasks_of(connector))
        return {number: attempt for number, attempt in found if attempt is not None}

    def forget_topics(self, connector: str) -> None:
        """Make a connector's tasks report the topics in use again."""
        for task in self._tasks_of(connector):
            # One thread each: the call blocks while the process does not read.
            self._stages.run_in_background(f"topics of task {task.id} to be reported again", task.forget_topics)

    def _tasks_of(self, connector: str) -> list[SupervisedTask]:
        with self._lock:
            return [task for id, task in self._tasks.items() if id.connector == connector]

    def start(self, task: SupervisedTask, build: Callable[[], TaskLaunch]) -> None:
        """Start a task; failures become its status. Raise ConnectError if it is here already.

        The task is restarted, here, when values that its configurations refer to have changed.
        """
        watch = ConfigWatch(
            f"Task {task.id}", lambda: build().config, lambda: self._reload(task, build, watch), self._after
        )
        with self._lock:
            if task.id in self._tasks:
                raise ConnectError(f"Task {task.id} is already on this worker")
            self._tasks[task.id] = task
            former = self._former.pop(task.id, None)
            if former is not None and former.has_failed and former.configs == task.configs:
                task.keep_facts(former.record)
            self._watches[task.id] = watch
        self._stages.run_in_background(
            f"start of task {task.id}", within(task.id, lambda: self._launch(task, build, watch))
        )

    def _launch(self, task: SupervisedTask, build: Callable[[], TaskLaunch], watch: ConfigWatch) -> None:
        config = task.launch(build, self._launcher)
        if config is not None:
            watch.begin(config)

    def _reload(self, task: SupervisedTask, build: Callable[[], TaskLaunch], watch: ConfigWatch) -> None:
        def reload() -> None:
            if task.end_attempts("values that its configuration refers to have changed", self._graceful_timeout):
                self._launch(task, build, watch)

        self._stages.run_in_background(f"restart of task {task.id} with changed values", within(task.id, reload))

    def set_target_state(self, id: ConnectorTaskId, target: TargetState) -> None:
        """Pause or resume a task; do nothing if there is no such task."""
        with self._lock:
            task = self._tasks.get(id)
        if task is not None:
            task.set_target_state(target)

    def stop(self, ids: Collection[ConnectorTaskId]) -> Future[None]:
        """Stop tasks in parallel, with one deadline for a graceful end; then kill them.

        The future ends when no process of any of them is left, however long that takes: a task may only be started
        again, here or elsewhere, when its former process can do nothing more.
        """
        with self._lock:
            tasks = [self._tasks[id] for id in ids if id in self._tasks]
        for task in tasks:
            task.stop()
        deadline = Deadline.after(self._graceful_timeout, self._clock)
        named = ", ".join(str(task.id) for task in tasks[:3]) + (", ..." if len(tasks) > 3 else "")
        return self._stages.run_in_background(f"stop of tasks {named}", lambda: self._await_gone(tasks, deadline))

    def _await_gone(self, tasks: Collection[SupervisedTask], deadline: Deadline) -> None:
        lasting = [task for task in tasks if not self._gone(task, deadline.remaining())]
        for task in lasting:
            log.warning("Task %s has not stopped within %.1f s: killing it", task.id, self._graceful_timeout)
            task.kill()
        for task in lasting:
            while not self._gone(task, _REMIND_S):
                log.error("Task %s: process %s is not gone yet, though it was killed", task.id, task.pid)
                task.kill()

    def _gone(self, task: SupervisedTask, timeout: float) -> bool:
        gone = task.await_gone(timeout)
        if gone:
            with self._lock:
                if self._tasks.get(task.id) is task:
                    del self._tasks[task.id]
                    self._keep(task)
                    self._watches.pop(task.id).close()
        return gone

    def _keep(self, task: SupervisedTask) -> None:
        self._former[task.id] = _Former(task.record, task.configs)
        while len(self._former) > _FORMER:
            del self._former[next(iter(self._former))]
