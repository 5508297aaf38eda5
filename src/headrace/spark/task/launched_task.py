# SPDX-License-Identifier: Apache-2.0
"""One launched task: its Spark job, the attempts that attach to it, and what follows when one ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConfigError, ConnectError
from headrace.logs.context import log_context, within
from headrace.logs.loggers import Loggers
from headrace.logs.records import log_again
from headrace.model.backoff import ExponentialBackoff
from headrace.model.info import SparkAttempt
from headrace.model.state import TargetState
from headrace.spark.channel import messages
from headrace.spark.channel.messages import Attach, Command, Start
from headrace.spark.channel.task_channel import AttemptChannel
from headrace.spark.engine.spark_engine import SparkEngine, SparkJobError
from headrace.spark.frames.frame_jobs import FrameJobs, FrameLimits
from headrace.spark.process.machine import this_machine
from headrace.spark.task.attempt import Attempt
from headrace.task.task_spec import TaskSpec
from headrace.task.worker_task import Ended, Outcome
from headrace.worker.tasks.task_launcher import TaskListener

_log = logging.getLogger(__name__)
_BACKOFF = ExponentialBackoff(0.25, 30.0)
_GONE = 5.0
_SINKS_COMMITS = "offset-commit-completion-total"
"""The figure of a sink's attempt that tells that it gets on; a source's tells of its offsets."""
_WRITING = 3.0
"""What a frame job that is cancelled gets to come to its end."""


class LaunchedTask:
    """``headrace.worker.tasks.task_launcher.TaskHandle``.

    The job's thread submits the Spark job again and again until the task has stopped or failed. Each attempt has a
    channel thread, which alone tells the listener what happens while the attempt lives; the job's thread does so only
    when no attempt is left and none is admitted. So nothing but ``stopped`` follows ``failed``, and nothing follows
    ``stopped``.
    """

    def __init__(
        self,
        key: str,
        spec: TaskSpec,
        listener: TaskListener,
        engine: SparkEngine,
        loggers: Loggers | None = None,
        limits: FrameLimits | None = None,
    ) -> None:
        """Processes log what ``loggers``, the worker's, let through. ``limits`` are those of the task's frame jobs."""
        self.key = key
        self._spec = spec
        self._listener = listener
        self._engine = engine
        self._loggers = loggers or Loggers()
        self._shown = f"{spec.id.connector}/{spec.id.task}"
        """What Spark's UI calls its jobs."""
        self._limits = limits or FrameLimits(spec.id.connector)
        self._frames = FrameJobs(key, self._shown, engine, self._limits)
        self._lock = threading.Lock()
        self._admission = threading.Lock()
        self._wake = threading.Event()
        self._gone = threading.Event()
        self._stopping = False
        self._paused = spec.target_state is TargetState.PAUSED
        self._attempts = 0
        self._attempt: Attempt | None = None
        self._admitting = False
        self._ended: Ended | None = None
        self._lost = False
        self._failures = 0

    def start(self, on_gone: Callable[[LaunchedTask], None]) -> None:
        run = within(self._spec.id, lambda: self._run(on_gone))
        threading.Thread(target=run, name=f"task-{self._spec.id}", daemon=True).start()

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
            self._stopping = True
            attempt = self._attempt
        self._wake.set()
        self._engine.cancel(self.key)
        if attempt is not None:
            attempt.kill()

    def await_stopped(self, timeout: float) -> bool:
        return self._gone.wait(max(0.0, timeout))

    def spark_attempt(self) -> SparkAttempt | None:
        with self._lock:
            attempt = self._attempt
        if attempt is None:
            return None
        job = self._engine.running(self.key)
        if job is None:
            return SparkAttempt(None, None, None, attempt.number, None, attempt.pid)
        return SparkAttempt(job.app_id, job.job_id, job.executor, attempt.number, job.host, attempt.pid)

    @property
    def without_process(self) -> bool:
        """Whether its job is there, or about to be, and no process has attached to it."""
        with self._lock:
            return self._wanted() and self._attempt is None

    def waits(self, reason: str) -> None:
        """It has no process because the cluster has no core for one. On the thread that looks after that."""
        if self.without_process:
            self._tell(lambda: self._listener.waiting(self._spec.id, reason))

    def forget_topics(self) -> None:
        self._send(Command.FORGET_TOPICS)

    def send_log_levels(self) -> None:
        """The worker's have changed."""
        self._send(messages.LogLevels(self._loggers.set_levels()))

    def _send(self, message: object) -> None:
        with self._lock:
            attempt = self._attempt
        if attempt is not None:
            attempt.channel.send(message)

    def attached(self, channel: AttemptChannel, attach: Attach) -> None:
        """Serve one attempt until its process lets go of the channel. On the channel's thread."""
        with log_context(self._spec.id):
            self._attached(channel, attach)

    def _attached(self, channel: AttemptChannel, attach: Attach) -> None:
        with self._admission:
            attempt = self._admit(channel, attach)
        if attempt is None:
            channel.send(Command.STOP)
            return
        try:
            self._serve(attempt)
        finally:
            self._has_gone(attempt)

    def _admit(self, channel: AttemptChannel, attach: Attach) -> Attempt | None:
        """One attempt at a time, and none that the worker does not want, or whose Spark job is over (invariant 4)."""
        if not self._former_is_gone():
            return None
        number, self._attempts = self._attempts, self._attempts + 1
        # A process that comes after another one must not fence a successor elsewhere.
        if number > 0 and not self._may_follow(number):
            return None
        local = attach.machine == this_machine()
        with self._lock:
            if not self._wanted():
                return None
            attempt = self._attempt = Attempt(number, attach.pid, local, channel)
            channel.send(Start(self._spec, self._paused, self._loggers.set_levels(), self._limits.results))
        self._tell(lambda: self._listener.attempt_started(self._spec.id, number, attach.pid))
        return attempt

    def _wanted(self) -> bool:
        return self._admitting and not self._stopping and self._ended is None

    def _former_is_gone(self) -> bool:
        """Spark starts an attempt because it gave the former one up: that must not live on beside it."""
        with self._lock:
            former = self._attempt
        if former is None:
            return True
        former.kill()
        former.channel.break_off()
        return former.channel.closed.wait(_GONE)

    def _may_follow(self, number: int) -> bool:
        if self._lost:
            # Spark starts a lost process anew at once, which is too often for one that always dies.
            self._lost = False
            self._back_off(0)
        with self._lock:
            if not self._wanted():
                return False
        refusal = self._refusal(number)
        if refusal is not None:
            with self._lock:
                self._ended = self._ended or refusal
        return refusal is None

    def _has_gone(self, attempt: Attempt) -> None:
        self._frames.cancel_all()
        # A job may be at its end and write all the same: what a successor reads must have that in it.
        if not self._frames.await_ended(_WRITING):
            _log.warning("task %s: a frame job goes on after the end of process %d", self._spec.id, attempt.pid)
        with self._lock:
            lost = self._lost = self._ended is None and not self._stopping
        if lost:
            self._tell(lambda: self._listener.restarting(self._spec.id, f"its process {attempt.pid} was lost"))
        # Last: the job's thread tells nothing until this attempt can tell nothing more.
        with self._lock:
            self._attempt = None

    def _serve(self, attempt: Attempt) -> None:
        while (message := attempt.channel.receive()) is not None:
            try:
                self._take(attempt, message)
            except Exception:
                _log.exception("event %s of task %s could not be handled", type(message).__name__, self._spec.id)

    def _take(self, attempt: Attempt, message: object) -> None:
        id, listener = self._spec.id, self._listener
        match message:
            case messages.ConfirmStart():
                self._answer(lambda: self._confirm(attempt))
            case messages.ReadOffsets(partitions):
                self._answer(lambda: self._read_offsets(attempt, partitions))
            case messages.WriteOffsets(records):
                self._answer(lambda: self._write_offsets(attempt, records))
            case messages.RunFrameJob():
                self._answer(lambda: self._run_frame_job(attempt, message))
            case messages.CancelFrameJob(number):
                self._frames.cancel(number)
            case messages.Running():
                listener.running(id)
            case messages.Paused():
                listener.paused(id)
            case messages.OffsetsCommitted(offsets):
                self._failures = 0
                listener.offsets_committed(id, offsets)
            case messages.TopicsUsed(topics):
                listener.topics_used(id, topics)
            case messages.Metrics(values):
                if values.get(_SINKS_COMMITS):
                    self._failures = 0
                listener.metrics(id, values)
            case messages.Log(logger, level, text, trace):
                log_again(logger, level, text, trace)
            case messages.Done(ended):
                with self._lock:
                    self._ended = ended
            case _:
                raise ConnectError(f"unknown message {message!r} from the process of task {id}")

    def _answer(self, answer: Callable[[], None]) -> None:
        """On a thread of its own: answers take time, and the end of the process must be noticed meanwhile."""
        threading.Thread(target=within(self._spec.id, answer), name=f"task-answer-{self._spec.id}", daemon=True).start()

    def _confirm(self, attempt: Attempt) -> None:
        refusal = self._refusal(attempt.number)
        if refusal is None:
            attempt.channel.send(Command.GO)
        elif refusal.outcome is Outcome.ABANDONED:
            attempt.channel.send(Command.ABANDON)
        else:
            attempt.channel.send(messages.Refused(refusal.reason, refusal.outcome is Outcome.FAILED))

    def _run_frame_job(self, attempt: Attempt, request: messages.RunFrameJob) -> None:
        attempt.channel.send(self._frames.run(request))

    def _refusal(self, number: int) -> Ended | None:
        """Why the task may not start here; None if it may."""
        try:
            if not self._stopping and self._listener.confirm_start(self._spec.id, number):
                return None
            return Ended(Outcome.ABANDONED)
        except ConfigError as error:
            return Ended(Outcome.FAILED, error_text(error))
        except Exception as error:
            # Not knowing is no permission; the attempt ends and another one asks again.
            _log.warning("task %s may not start yet: %s", self._spec.id, error, exc_info=_unexpected(error))
            return Ended(Outcome.TAINTED, error_text(error))

    def _read_offsets(self, attempt: Attempt, partitions: Sequence[Mapping[str, Any]]) -> None:
        try:
            answer = messages.OffsetsRead(self._listener.read_offsets(self._spec.id, partitions))
        except Exception as error:
            _log.warning("offsets of task %s could not be read: %s", self._spec.id, error, exc_info=_unexpected(error))
            answer = messages.OffsetsRead((), error_text(error), isinstance(error, ConfigError))
        attempt.channel.send(answer)

    def _write_offsets(self, attempt: Attempt, records: Mapping[bytes, bytes | None]) -> None:
        try:
            self._listener.write_offsets(self._spec.id, records)
            answer = messages.OffsetsWritten()
        except Exception as error:
            if _unexpected(error):
                _log.exception("offsets of task %s could not be written", self._spec.id)
            answer = messages.OffsetsWritten(error_text(error) or error_line(error))
        attempt.channel.send(answer)

    def _run(self, on_gone: Callable[[LaunchedTask], None]) -> None:
        try:
            while self._run_job():
                self._back_off(_BACKOFF.first)
        except BaseException as error:
            # This thread dies: nobody runs the task any more, so its status must not say otherwise.
            self._engine.cancel(self.key)
            self._settled()
            reason = f"The worker's thread that runs the task died of {error_line(error)}"
            self._tell(lambda: self._listener.failed(self._spec.id, reason))
            raise
        finally:
            self._settled()
            self._frames.close()
            on_gone(self)
            self._tell(lambda: self._listener.stopped(self._spec.id))
            self._gone.set()

    def _run_job(self) -> bool:
        """Run the Spark job to its end; whether another one has to follow."""
        with self._lock:
            if self._stopping:
                return False
            self._admitting, self._ended, self._lost = True, None, False
        if (refusal := self._limits.breaker.refusal(self._spec.id.connector)) is not None:
            return self._follow(self._settled() or Ended(Outcome.FAILED, refusal))
        reason = "its Spark job ended without a word"
        try:
            self._engine.run(self.key, self._shown, lambda: self._stopping, self._hindered)
        except SparkJobError as error:
            reason = str(error)
        return self._follow(self._settled() or Ended(Outcome.TAINTED, reason))

    def _settled(self) -> Ended | None:
        """Wait until no process of the job is left, and admit no more: how the last one ended, if it could tell.

        From here to the next job nobody but the job's thread speaks to the listener.
        """
        while True:
            with self._lock:
                attempt = self._attempt
                if attempt is None:
                    self._admitting = False
                    return self._ended
            if not attempt.channel.closed.wait(_GONE):
                attempt.kill()

    def _back_off(self, least: float) -> None:
        """Wait, the longer the more attempts have failed since the last commit."""
        breaker = self._limits.breaker
        self._wake.wait(max(least, _BACKOFF.after(self._failures), breaker.backoff(self._spec.id.connector)))
        self._failures += 1

    def _follow(self, ended: Ended) -> bool:
        id = self._spec.id
        if ended.outcome is Outcome.FAILED:
            _log.error("task failed: %s", ended.reason.partition("\n")[0])
        if self._stopping:
            return False
        if ended.outcome is Outcome.FAILED:
            self._tell(lambda: self._listener.failed(id, ended.reason))
            return False
        if ended.outcome in (Outcome.STOPPED, Outcome.ABANDONED):
            return False
        _log.warning("a new attempt follows: %s", ended.reason)
        self._tell(lambda: self._listener.restarting(id, ended.reason, ended.outcome))
        return True

    def _hindered(self, reason: str) -> None:
        self._tell(lambda: self._listener.waiting(self._spec.id, f"Spark is not running: {reason}"))

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


def _unexpected(error: Exception) -> bool:
    """Whether a trace is worth its lines."""
    return not isinstance(error, ConnectError)
