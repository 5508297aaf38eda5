# SPDX-License-Identifier: Apache-2.0
"""A launched task: its Spark job, the attempts that attach to it, and the next attempt when one ends."""

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

log = logging.getLogger(__name__)
_BACKOFF = ExponentialBackoff(0.25, 30.0)
_EXIT_TIMEOUT_S = 5.0
_SINK_COMMITS_METRIC = "offset-commit-completion-total"
"""The metric that shows a sink attempt's progress; a source's attempt reports its offsets."""
_CANCEL_GRACE_S = 3.0
"""Seconds that a cancelled frame job has to end."""


class LaunchedTask:
    """``headrace.worker.tasks.task_launcher.TaskHandle``.

    The job's thread submits the Spark job again and again until the task has stopped or failed. Each attempt has a
    channel thread, which alone notifies the listener while the attempt lives; the job's thread does so only when no
    attempt is left and none is admitted. So only ``stopped`` follows ``failed``, and nothing follows ``stopped``.
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
        """``loggers`` are the worker's, whose levels processes take over; ``limits`` are for the task's frame jobs."""
        self.key = key
        self._spec = spec
        self._listener = listener
        self._engine = engine
        self._loggers = loggers or Loggers()
        self._shown = f"{spec.id.connector}/{spec.id.task}"
        """The description of its jobs in Spark's UI."""
        self._limits = limits or FrameLimits(spec.id.connector)
        self._frames = FrameJobs(key, self._shown, engine, self._limits)
        self._lock = threading.Lock()
        self._admission = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._stopping = False
        self._paused = spec.target_state is TargetState.PAUSED
        self._attempts = 0
        self._attempt: Attempt | None = None
        self._admitting = False
        self._ended: Ended | None = None
        self._lost = False
        self._failures = 0

    def start(self, on_gone: Callable[[LaunchedTask], None]) -> None:
        run = within(self._spec.id, lambda: self._run_until_stopped(on_gone))
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
        return self._stopped.wait(max(0.0, timeout))

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
        """True if its job is submitted, or about to be, and no process has attached to it."""
        with self._lock:
            return self._wanted() and self._attempt is None

    def report_waiting(self, reason: str) -> None:
        """Report that it waits for a core of the cluster. On ``SlotWatch``'s thread."""
        if self.without_process:
            self._notify(lambda: self._listener.waiting(self._spec.id, reason))

    def forget_topics(self) -> None:
        self._send(Command.FORGET_TOPICS)

    def send_log_levels(self) -> None:
        """Send the worker's log levels, which have changed, to the process."""
        self._send(messages.LogLevels(self._loggers.set_levels()))

    def _send(self, message: object) -> None:
        with self._lock:
            attempt = self._attempt
        if attempt is not None:
            attempt.channel.send(message)

    def serve_attempt(self, channel: AttemptChannel, attach: Attach) -> None:
        """Serve one attempt until its process closes the channel. On the channel's thread."""
        with log_context(self._spec.id):
            self._admit_and_serve(channel, attach)

    def _admit_and_serve(self, channel: AttemptChannel, attach: Attach) -> None:
        with self._admission:
            attempt = self._admit(channel, attach)
        if attempt is None:
            channel.send(Command.STOP)
            return
        try:
            self._serve(attempt)
        finally:
            self._on_process_gone(attempt)

    def _admit(self, channel: AttemptChannel, attach: Attach) -> Attempt | None:
        """Admit one attempt at a time, and none that is not wanted or whose Spark job is over (invariant 4)."""
        if not self._end_former_attempt():
            return None
        number, self._attempts = self._attempts, self._attempts + 1
        # A later process must not fence a successor elsewhere.
        if number > 0 and not self._may_follow(number):
            return None
        local = attach.machine == this_machine()
        with self._lock:
            if not self._wanted():
                return None
            attempt = self._attempt = Attempt(number, attach.pid, local, channel)
            channel.send(Start(self._spec, self._paused, self._loggers.set_levels(), self._limits.results))
        self._notify(lambda: self._listener.attempt_started(self._spec.id, number, attach.pid))
        return attempt

    def _wanted(self) -> bool:
        return self._admitting and not self._stopping and self._ended is None

    def _end_former_attempt(self) -> bool:
        """End the former attempt, which Spark has given up; return False if its process does not end in time."""
        with self._lock:
            former = self._attempt
        if former is None:
            return True
        former.kill()
        former.channel.break_off()
        return former.channel.closed.wait(_EXIT_TIMEOUT_S)

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

    def _on_process_gone(self, attempt: Attempt) -> None:
        self._frames.cancel_all()
        # A cancelled job may still write at its end: a successor must read what it has written.
        if not self._frames.await_ended(_CANCEL_GRACE_S):
            log.warning("task %s: a frame job goes on after the end of process %d", self._spec.id, attempt.pid)
        with self._lock:
            lost = self._lost = self._ended is None and not self._stopping
        if lost:
            self._notify(lambda: self._listener.restarting(self._spec.id, f"its process {attempt.pid} was lost"))
        # Last: the job's thread notifies nobody until this attempt can notify nobody any more.
        with self._lock:
            self._attempt = None

    def _serve(self, attempt: Attempt) -> None:
        while (message := attempt.channel.receive()) is not None:
            try:
                self._handle(attempt, message)
            except Exception:
                log.exception("event %s of task %s could not be handled", type(message).__name__, self._spec.id)

    def _handle(self, attempt: Attempt, message: object) -> None:
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
                if values.get(_SINK_COMMITS_METRIC):
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
        """Answer on a thread of its own: that takes time, and the end of the process must be noticed meanwhile."""
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
        attempt.channel.send(self._frames.run_frame_job(request))

    def _refusal(self, number: int) -> Ended | None:
        """Return the outcome of an attempt that may not start here; None if it may."""
        try:
            if not self._stopping and self._listener.confirm_start(self._spec.id, number):
                return None
            return Ended(Outcome.ABANDONED)
        except ConfigError as error:
            return Ended(Outcome.FAILED, error_text(error))
        except Exception as error:
            # Without an answer it must not start; the attempt ends and another one repeats the request.
            log.warning("task %s may not start yet: %s", self._spec.id, error, exc_info=_unexpected(error))
            return Ended(Outcome.TAINTED, error_text(error))

    def _read_offsets(self, attempt: Attempt, partitions: Sequence[Mapping[str, Any]]) -> None:
        try:
            answer = messages.OffsetsRead(self._listener.read_offsets(self._spec.id, partitions))
        except Exception as error:
            log.warning("offsets of task %s could not be read: %s", self._spec.id, error, exc_info=_unexpected(error))
            answer = messages.OffsetsRead((), error_text(error), isinstance(error, ConfigError))
        attempt.channel.send(answer)

    def _write_offsets(self, attempt: Attempt, records: Mapping[bytes, bytes | None]) -> None:
        try:
            self._listener.write_offsets(self._spec.id, records)
            answer = messages.OffsetsWritten()
        except Exception as error:
            if _unexpected(error):
                log.exception("offsets of task %s could not be written", self._spec.id)
            answer = messages.OffsetsWritten(error_text(error) or error_line(error))
        attempt.channel.send(answer)

    def _run_until_stopped(self, on_gone: Callable[[LaunchedTask], None]) -> None:
        try:
            while self._run_job():
                self._back_off(_BACKOFF.first)
        except BaseException as error:
            # This thread dies, and the task with it: its status must say so.
            self._engine.cancel(self.key)
            self._await_processes_gone()
            reason = f"The worker's thread that runs the task died of {error_line(error)}"
            self._notify(lambda: self._listener.failed(self._spec.id, reason))
            raise
        finally:
            self._await_processes_gone()
            self._frames.close()
            on_gone(self)
            self._notify(lambda: self._listener.stopped(self._spec.id))
            self._stopped.set()

    def _run_job(self) -> bool:
        """Run the Spark job to its end; return True if another one has to follow."""
        with self._lock:
            if self._stopping:
                return False
            self._admitting, self._ended, self._lost = True, None, False
        if (refusal := self._limits.breaker.refusal(self._spec.id.connector)) is not None:
            return self._must_follow(self._await_processes_gone() or Ended(Outcome.FAILED, refusal))
        reason = "its Spark job ended without a word"
        try:
            self._engine.run_task_job(self.key, self._shown, lambda: self._stopping, self._on_engine_unavailable)
        except SparkJobError as error:
            reason = str(error)
        return self._must_follow(self._await_processes_gone() or Ended(Outcome.TAINTED, reason))

    def _await_processes_gone(self) -> Ended | None:
        """Wait until no process of the job is left, and admit no more; return the last one's outcome if it was sent.

        From here to the next job only the job's thread notifies the listener.
        """
        while True:
            with self._lock:
                attempt = self._attempt
                if attempt is None:
                    self._admitting = False
                    return self._ended
            if not attempt.channel.closed.wait(_EXIT_TIMEOUT_S):
                attempt.kill()

    def _back_off(self, least: float) -> None:
        """Wait, longer with each attempt that has failed since the last commit."""
        breaker = self._limits.breaker
        self._wake.wait(max(least, _BACKOFF.after(self._failures), breaker.backoff(self._spec.id.connector)))
        self._failures += 1

    def _must_follow(self, ended: Ended) -> bool:
        """Report an attempt's outcome; return True if another attempt has to follow."""
        id = self._spec.id
        if ended.outcome is Outcome.FAILED:
            log.error("task failed: %s", ended.reason.partition("\n")[0])
        if self._stopping:
            return False
        if ended.outcome is Outcome.FAILED:
            self._notify(lambda: self._listener.failed(id, ended.reason))
            return False
        if ended.outcome in (Outcome.STOPPED, Outcome.ABANDONED):
            return False
        log.warning("a new attempt follows: %s", ended.reason)
        self._notify(lambda: self._listener.restarting(id, ended.reason, ended.outcome))
        return True

    def _on_engine_unavailable(self, reason: str) -> None:
        self._notify(lambda: self._listener.waiting(self._spec.id, f"Spark is not running: {reason}"))

    def _set_paused(self, paused: bool) -> None:
        with self._lock:
            self._paused = paused
            attempt = self._attempt
        if attempt is not None:
            attempt.channel.send(Command.PAUSE if paused else Command.RESUME)

    def _notify(self, notify: Callable[[], None]) -> None:
        try:
            notify()
        except Exception:
            log.exception("the worker could not take an event of task %s", self._spec.id)


def _unexpected(error: Exception) -> bool:
    """Return True if an error is to be logged with its trace."""
    return not isinstance(error, ConnectError)
