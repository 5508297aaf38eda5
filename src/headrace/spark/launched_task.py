# SPDX-License-Identifier: Apache-2.0
"""One launched task: its Spark job, the attempts that attach to it, and what follows when one ends."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from headrace.api.errors import ConnectError
from headrace.model.state import TargetState
from headrace.spark import messages
from headrace.spark.messages import Attach, Command, Start
from headrace.spark.spark_engine import SparkEngine, SparkJobError
from headrace.spark.task_channel import AttemptChannel
from headrace.task.task_spec import TaskSpec
from headrace.task.worker_task import Ended, Outcome
from headrace.worker.task_launcher import TaskListener

_log = logging.getLogger(__name__)
_FIRST_BACKOFF = 0.25
_LONGEST_BACKOFF = 30.0
_GONE = 5.0


@dataclass(frozen=True, slots=True)
class _Attempt:
    number: int
    pid: int
    local: bool
    channel: AttemptChannel


class LaunchedTask:
    """``headrace.worker.task_launcher.TaskHandle``.

    The job's thread submits the Spark job again and again until the task has stopped or failed. Each attempt has a
    channel thread, which alone speaks to the listener while the attempt lives; the job's thread speaks to it only when
    no attempt is left.
    """

    def __init__(self, key: str, spec: TaskSpec, listener: TaskListener, engine: SparkEngine) -> None:
        self.key = key
        self._spec = spec
        self._listener = listener
        self._engine = engine
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._gone = threading.Event()
        self._stopping = False
        self._killed = False
        self._paused = spec.target_state is TargetState.PAUSED
        self._attempts = 0
        self._attempt: _Attempt | None = None
        self._ended: Ended | None = None
        self._backoff = _FIRST_BACKOFF

    def start(self, on_gone: Callable[[LaunchedTask], None]) -> None:
        threading.Thread(target=self._run, args=(on_gone,), name=f"task-{self._spec.id}", daemon=True).start()

    def pause(self) -> None:
        self._set_paused(True)

    def resume(self) -> None:
        self._set_paused(False)

    def stop(self) -> None:
        with self._lock:
            self._stopping = True
            attempt = self._attempt
        self._wake.set()
        if attempt is not None:
            attempt.channel.send(Command.STOP)

    def kill(self) -> None:
        with self._lock:
            self._stopping = self._killed = True
            attempt = self._attempt
        self._wake.set()
        self._engine.cancel(self.key)
        if attempt is not None:
            self._kill_process(attempt)

    def await_stopped(self, timeout: float) -> bool:
        return self._gone.wait(max(0.0, timeout))

    def attached(self, channel: AttemptChannel, attach: Attach) -> None:
        """Serve one attempt until its process lets go of the channel. On the channel's thread."""
        attempt = self._admit(channel, attach)
        if attempt is None:
            channel.send(Command.STOP)
            return
        try:
            self._serve(attempt)
        finally:
            with self._lock:
                if self._attempt is attempt:
                    self._attempt = None
                unexplained = self._ended is None and not self._stopping
            if unexplained:
                self._tell(lambda: self._listener.restarting(self._spec.id, f"its process {attempt.pid} was lost"))

    def _admit(self, channel: AttemptChannel, attach: Attach) -> _Attempt | None:
        """At most one attempt at a time; none once the task is to stop or was taken away (invariant 4)."""
        with self._lock:
            number, former = self._attempts, self._attempt
            self._attempts += 1
        if former is not None:
            # Spark started this attempt because it gave the former up: it must not live on beside it.
            self._kill_process(former)
            former.channel.close()
            former.channel.closed.wait(_GONE)
        # A process that comes after another one must not fence a successor elsewhere.
        if number > 0 and not self._still_mine(number):
            with self._lock:
                self._ended = self._ended or Ended(Outcome.ABANDONED)
            return None
        local = attach.host == socket.gethostname()
        with self._lock:
            if self._stopping:
                return None
            attempt = self._attempt = _Attempt(number, attach.pid, local, channel)
            self._ended = None
            channel.send(Start(self._spec, self._paused))
        self._tell(lambda: self._listener.attempt_started(self._spec.id, number, attach.pid))
        return attempt

    def _serve(self, attempt: _Attempt) -> None:
        while (message := attempt.channel.receive()) is not None:
            try:
                self._take(attempt, message)
            except Exception:
                _log.exception("event %s of task %s could not be handled", type(message).__name__, self._spec.id)

    def _take(self, attempt: _Attempt, message: object) -> None:
        id, listener = self._spec.id, self._listener
        match message:
            case messages.ConfirmStart():
                attempt.channel.send(Command.GO if self._still_mine(attempt.number) else Command.ABANDON)
            case messages.ReadOffsets(partitions):
                attempt.channel.send(self._offsets(partitions))
            case messages.Running():
                listener.running(id)
            case messages.Paused():
                listener.paused(id)
            case messages.OffsetsCommitted(offsets):
                self._backoff = _FIRST_BACKOFF
                listener.offsets_committed(id, offsets)
            case messages.TopicsUsed(topics):
                listener.topics_used(id, topics)
            case messages.Metrics(values):
                listener.metrics(id, values)
            case messages.Log(logger, level, text):
                logging.getLogger(logger).log(level, "[%s|task-%d] %s", id.connector, id.task, text)
            case messages.Done(ended):
                with self._lock:
                    self._ended = ended
            case _:
                raise ConnectError(f"unknown message {message!r} from the process of task {id}")

    def _still_mine(self, attempt: int) -> bool:
        try:
            return not self._stopping and self._listener.confirm_start(self._spec.id, attempt)
        except ConnectError as error:
            # Not knowing is no permission; the attempt ends and another one asks again.
            _log.warning("task %s may not start yet: %s", self._spec.id, error)
            with self._lock:
                self._ended = Ended(Outcome.TAINTED, str(error))
            return False

    def _offsets(self, partitions: object) -> messages.OffsetsRead:
        try:
            return messages.OffsetsRead(self._listener.read_offsets(self._spec.id, partitions))  # type: ignore[arg-type]
        except ConnectError as error:
            return messages.OffsetsRead((), str(error))

    def _run(self, on_gone: Callable[[LaunchedTask], None]) -> None:
        try:
            while not self._stopping and self._run_job():
                self._wake.wait(self._backoff)
                self._backoff = min(self._backoff * 2, _LONGEST_BACKOFF)
        finally:
            self._await_process()
            self._gone.set()
            on_gone(self)
            self._tell(lambda: self._listener.stopped(self._spec.id))

    def _run_job(self) -> bool:
        """Run the Spark job to its end; whether another one has to follow."""
        reason = "its Spark job ended without a word"
        try:
            self._engine.run(self.key, str(self._spec.id), lambda: self._stopping, self._hindered)
        except SparkJobError as error:
            reason = str(error)
        self._await_process()
        with self._lock:
            ended = self._ended or Ended(Outcome.TAINTED, reason)
            self._ended = None
        if self._stopping:
            return False
        return self._follow(ended)

    def _follow(self, ended: Ended) -> bool:
        id = self._spec.id
        if ended.outcome is Outcome.FAILED:
            _log.error("[%s|task-%d] task failed: %s", id.connector, id.task, ended.reason.partition("\n")[0])
            self._tell(lambda: self._listener.failed(id, ended.reason))
            return False
        if ended.outcome in (Outcome.STOPPED, Outcome.ABANDONED):
            return False
        _log.warning("[%s|task-%d] a new attempt follows: %s", id.connector, id.task, ended.reason)
        self._tell(lambda: self._listener.restarting(id, ended.reason))
        return True

    def _hindered(self, reason: str) -> None:
        self._tell(lambda: self._listener.restarting(self._spec.id, f"Spark is not running: {reason}"))

    def _await_process(self) -> None:
        """Return when no process of the task is left: its channel closed is the proof."""
        with self._lock:
            attempt = self._attempt
        while attempt is not None and not attempt.channel.closed.wait(_GONE):
            self._kill_process(attempt)
            if not attempt.local:
                attempt.channel.close()

    def _kill_process(self, attempt: _Attempt) -> None:
        # While the channel is open the process lives, so its pid is still its own.
        if attempt.local and not attempt.channel.closed.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.kill(attempt.pid, signal.SIGKILL)
        elif not attempt.local:
            attempt.channel.close()

    def _set_paused(self, paused: bool) -> None:
        with self._lock:
            self._paused = paused
            attempt = self._attempt
        if attempt is not None:
            attempt.channel.send(Command.PAUSE if paused else Command.RESUME)

    def _tell(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception:
            _log.exception("the worker could not take an event of task %s", self._spec.id)
