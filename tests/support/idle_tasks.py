# SPDX-License-Identifier: Apache-2.0
"""Tasks of a real herder without an engine: they send requests and events, and may have a producer."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.frames import FrameJob
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.model.health import Progress, Stage
from headrace.model.state import TargetState
from headrace.task.task_protocol import ConfirmStart, Failed, Measured, Paused, Running, Stopped, TopicsUsed
from headrace.task.task_spec import TaskSpec
from headrace.worker.tasks.task_launcher import TaskListener


class IdleTask:
    """A ``TaskHandle`` without a process: it confirms its start, runs, pauses and stops when asked to.

    With ``producing`` an exactly-once task has a producer, and keeps it. ``blocked``: it ends only when it is killed.
    """

    def __init__(self, spec: TaskSpec, listener: TaskListener, producing: bool, blocked: bool) -> None:
        self.spec = spec
        self.confirmed: Future[bool] = Future()
        self.producer: TransactionalProducer | None = None
        self.killed = False
        self.reported_topics: set[str] = set()
        self._listener = listener
        self._producing = producing and spec.exactly_once
        self._blocked = blocked
        self._gone = threading.Event()
        self.starting = threading.Thread(target=self._start, daemon=True)
        self.starting.start()

    def _start(self) -> None:
        try:
            if self._producing:
                self.producer = TransactionalProducer(self.spec.producer)
                self.producer.init_transactions(30)
            confirmed = self.may_start()
        except ConnectError as error:
            self.confirmed.set_exception(error)
            if not self._gone.is_set():  # nothing follows Stopped
                self._listener.on_event(self.spec.id, Failed(str(error)))
            return
        self.confirmed.set_result(confirmed)
        if confirmed and not self._gone.is_set():
            (self.resume if self.spec.target_state is TargetState.STARTED else self.pause)()

    def may_start(self) -> bool:
        """Return what its worker answers to the question for GO."""
        return bool(self._listener.answer(self.spec.id, ConfirmStart()))

    def use(self, *topics: str) -> None:
        """Report topics as a process does: of each once, until they are to be forgotten."""
        new = [topic for topic in topics if topic not in self.reported_topics]
        self.reported_topics.update(new)
        self._listener.on_event(self.spec.id, TopicsUsed(new))

    def forget_topics(self) -> None:
        self.reported_topics = set()

    def pause(self) -> None:
        self._listener.on_event(self.spec.id, Paused())

    def resume(self) -> None:
        self._listener.on_event(self.spec.id, Running())

    def stop(self) -> None:
        if not self._blocked:
            self._end()

    def kill(self) -> None:
        self.killed = True
        self._end()

    def _end(self) -> None:
        if not self._gone.is_set():
            self._gone.set()
            threading.Thread(target=self._listener.on_event, args=(self.spec.id, Stopped()), daemon=True).start()

    def await_stopped(self, timeout: float) -> bool:
        return self._gone.wait(timeout)

    def measure(self) -> None:
        self._listener.on_event(self.spec.id, Measured(Progress(Stage.POLLING, 0)))

    def spark_attempt(self) -> None: ...


class IdleLauncher:
    """A ``TaskLauncher`` that keeps what it was asked to launch; ``blocked`` is for tasks from then on."""

    def __init__(self, producing: bool = False) -> None:
        self.launched: list[IdleTask] = []
        self.blocked = False
        self._producing = producing

    def analyse(self, job: FrameJob | None = None) -> None: ...

    start = cores = analyse

    def run_job(self, job: FrameJob) -> None:
        raise RetriableError("no Spark here")

    def launch(self, spec: TaskSpec, listener: TaskListener) -> IdleTask:
        task = IdleTask(spec, listener, self._producing, self.blocked)
        self.launched.append(task)
        return task

    def stop(self, timeout: float) -> None: ...

    def close_producers(self) -> None:
        for task in self.launched:
            task.starting.join(30)  # one thread at a time may use a producer
            if task.producer is not None:
                task.producer.close()
