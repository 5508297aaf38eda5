# SPDX-License-Identifier: Apache-2.0
"""A launched task: the shell around the machine of its attempts."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from headrace.api.error_text import error_line
from headrace.api.errors import ConnectError
from headrace.logs.context import log_context, within
from headrace.logs.formats import log_again
from headrace.logs.loggers import Loggers
from headrace.model.backoff import ExponentialBackoff
from headrace.model.info import SparkAttempt
from headrace.model.process_end import ExitCalled
from headrace.model.state import TargetState
from headrace.plugins.builtin import JAVA_PREFIX
from headrace.spark.channel.messages import Attach, CancelFrameJob, Log, LogLevels, RunFrameJob, Start
from headrace.spark.channel.task_channel import AttemptChannel
from headrace.spark.engine.spark_engine import SparkEngine, SparkJobError
from headrace.spark.frames.frame_jobs import FrameJobs, FrameLimits
from headrace.spark.task import attempt_actions as actions
from headrace.spark.task import attempt_events as events
from headrace.spark.task.attached_process import AttachedProcess
from headrace.spark.task.attempt_actions import AttemptAction
from headrace.spark.task.attempt_events import AttemptEvent
from headrace.spark.task.attempt_machine import step
from headrace.spark.task.attempt_state import AttemptState
from headrace.spark.task.shared_processes import TaskJobs
from headrace.spark.task.worker_answers import WorkerAnswers, start_answer
from headrace.task.task_protocol import (
    Asked,
    Command,
    ConfirmStart,
    Ended,
    EngineEvent,
    Metrics,
    OffsetsCommitted,
    Outcome,
    ProcessEvent,
    Stopped,
)
from headrace.task.task_spec import TaskSpec
from headrace.worker.tasks.task_launcher import TaskListener

log = logging.getLogger(__name__)
_BACKOFF = ExponentialBackoff(0.25, 30.0)
_EXIT_TIMEOUT_S = 5.0
_SINK_COMMITS_METRIC: Final = "offset-commit-completion-total"
"""The metric that shows a sink attempt's progress; a source's attempt reports its offsets."""
_CANCEL_GRACE_S: Final = 3.0
"""Seconds that a cancelled frame job has to end."""


class LaunchedTask:
    """``headrace.worker.tasks.task_launcher.TaskHandle``.

    All that happens is an event for the machine, which orders actions; one thread at a time performs them, in order,
    that which brought an event while none did. The job's thread runs the Spark jobs that are ordered, and says last
    that the task has stopped. Each process has its channel's thread, which passes the attempt's events on to the
    listener while the machine notifies it of nothing.
    """

    def __init__(
        self,
        key: str,
        spec: TaskSpec,
        listener: TaskListener,
        engine: SparkEngine,
        loggers: Loggers | None = None,
        limits: FrameLimits | None = None,
        jobs: TaskJobs | None = None,
    ) -> None:
        """``loggers`` are the worker's, whose levels processes take over; ``limits`` are for the task's frame jobs.

        Its attempts are ``jobs`` of the engine's, or others.
        """
        self.key = key
        self.id = spec.id
        self._spec = spec
        self._listener = listener
        self._answers = WorkerAnswers(spec.id, listener)
        self._engine = engine
        self._task_jobs = jobs or engine
        self._in_java = spec.task_class.startswith(JAVA_PREFIX)
        self._loggers = loggers or Loggers()
        self._shown = f"{spec.id.connector}/{spec.id.task}"
        """The description of its jobs in Spark's UI."""
        self._limits = limits or FrameLimits(spec.id.connector)
        self._frames = FrameJobs(key, self._shown, engine, self._limits)
        self._lock = threading.Lock()
        self._state = AttemptState(paused=spec.target_state is TargetState.PAUSED)
        self._actions: deque[AttemptAction] = deque()
        self._performing = False
        self._processes: dict[int, AttachedProcess] = {}
        self._numbers = itertools.count()
        self._jobs: SimpleQueue[bool] = SimpleQueue()
        """True for each job that is ordered, False when none follows."""
        self._timer = threading.Timer(0, lambda: None)
        self._on_gone: Callable[[LaunchedTask], None] = lambda task: None
        self._stopped = threading.Event()

    # ---- for the worker

    def start(self, on_gone: Callable[[LaunchedTask], None]) -> None:
        """Begin; ``on_gone`` is called when no process is left and none will follow."""
        self._on_gone = on_gone
        run = within(self._spec.id, self._run_jobs)
        threading.Thread(target=run, name=f"task-{self._spec.id}", daemon=True).start()

    def pause(self) -> None:
        self._happen(events.SetPaused(True))

    def resume(self) -> None:
        self._happen(events.SetPaused(False))

    def stop(self) -> None:
        self._happen(events.Stop())

    def kill(self) -> None:
        self._happen(events.Kill())

    def await_stopped(self, timeout: float) -> bool:
        return self._stopped.wait(max(0.0, timeout))

    def spark_attempt(self) -> SparkAttempt | None:
        attempt = self._state.attempt
        if attempt is None:
            return None
        job = self._task_jobs.running(self.key)
        if job is None:
            return SparkAttempt(None, None, None, attempt.number, None, attempt.pid)
        return SparkAttempt(job.app_id, job.job_id, job.executor, attempt.number, job.host, attempt.pid)

    @property
    def without_process(self) -> bool:
        """True if its job is submitted, and no process has been sent the task."""
        return self._state.without_process

    @property
    def shares_process(self) -> bool:
        """True if its attempts run in processes of other tasks too."""
        return self._task_jobs is not self._engine

    def report_waiting(self, reason: str) -> None:
        """Report that it waits for a core of the cluster. On ``SlotWatch``'s thread."""
        self._happen(events.CannotStart(reason))

    def forget_topics(self) -> None:
        self._send(Command.FORGET_TOPICS)

    def measure(self) -> None:
        self._send(Command.MEASURE)

    def send_log_levels(self) -> None:
        """Send the worker's log levels, which have changed, to the process."""
        self._send(LogLevels(self._loggers.set_levels()))

    def _send(self, message: object) -> None:
        alive = self._state.alive
        process = self._processes.get(alive.process) if alive is not None else None
        if process is not None:
            process.channel.send(message)

    # ---- events and actions

    def _happen(self, event: AttemptEvent) -> None:
        with self._lock:
            self._state, ordered = step(self._state, event)
            self._actions += ordered
            if self._performing:
                return
            self._performing = True
        with log_context(self._spec.id):
            while (action := self._next_action()) is not None:
                try:
                    self._perform(action)
                except BaseException:  # the actions after it are as needed as ever
                    log.exception("%s of task %s has failed", type(action).__name__, self._spec.id)

    def _next_action(self) -> AttemptAction | None:
        with self._lock:
            self._performing = bool(self._actions)
            return self._actions.popleft() if self._actions else None

    def _perform(self, action: AttemptAction) -> None:
        match action:
            case actions.SubmitJob():
                self._jobs.put(True)
            case actions.CancelJob():
                self._task_jobs.cancel(self.key)
            case actions.AwaitExit(wait):
                self._wait(wait, _EXIT_TIMEOUT_S)
            case actions.BackOff(wait, failures, another_job):
                least = _BACKOFF.first if another_job else 0.0
                breaker = self._limits.breaker.backoff(self._spec.id.connector)
                self._wait(wait, max(least, _BACKOFF.after(failures), breaker))
            case actions.Notify(event):
                self._notify(event)
            case actions.LogError(reason):
                log.error("task failed: %s", reason)
            case actions.LogRestart(reason):
                log.warning("a new attempt follows: %s", reason)
            case actions.Finish():
                self._jobs.put(False)
            case _:
                process = self._processes.get(action.process)
                if process is not None:  # or it has ended meanwhile
                    self._perform_on(process, action)

    def _perform_on(self, process: AttachedProcess, action: AttemptAction) -> None:
        match action:
            case actions.SendStart(_, paused):
                start = Start(self._spec, paused, self._loggers.set_levels(), self._limits.results)
                process.channel.send(start)
            case actions.Serve():
                process.decide(True)
            case actions.Dismiss():
                process.channel.send(Command.STOP)
                process.decide(False)
            case actions.Send(_, command):
                process.channel.send(command)
            case actions.KillProcess(_, break_off):
                process.kill()
                if break_off:
                    process.channel.break_off()
            case actions.AskWorker(number, question):
                self._answer_later(process, lambda: self._confirm(number, question))
            case actions.Answer(_, question, refusal):
                process.channel.send(start_answer(question, refusal))

    def _wait(self, wait: int, seconds: float) -> None:
        """Have a wait end after ``seconds``; the one before it counts no more."""
        self._timer.cancel()
        self._timer = threading.Timer(seconds, lambda: self._happen(events.Waited(wait)))
        self._timer.daemon = True
        self._timer.start()

    def _notify(self, event: EngineEvent) -> None:
        try:
            self._listener.on_event(self._spec.id, event)
        except Exception:
            log.exception("the worker could not take an event of task %s", self._spec.id)

    # ---- the job's thread

    def _run_jobs(self) -> None:
        try:
            self._happen(events.Begin())
            while self._jobs.get():
                self._happen(events.JobEnded(self._run_job()))
        except BaseException as error:
            # This thread dies, and the task with it: its status must say so.
            reason = f"The worker's thread that runs the task died of {error_line(error)}"
            self._happen(events.JobEnded(Ended(Outcome.FAILED, reason), died=True))
            self._jobs.get()  # until no attempt is left
            raise
        finally:
            self._timer.cancel()
            self._frames.close()
            self._on_gone(self)
            self._notify(Stopped())
            self._stopped.set()

    def _run_job(self) -> Ended:
        """Run a Spark job to its end; return the outcome of one whose process has reported none."""
        if (refusal := self._limits.breaker.refusal(self._spec.id.connector)) is not None:
            return Ended(Outcome.FAILED, refusal)
        try:
            given_up, on_unavailable = (lambda: self._state.stopping), self._on_engine_unavailable
            self._task_jobs.run_task_job(self.key, self._shown, given_up, on_unavailable)
        except SparkJobError as error:
            return Ended(Outcome.TAINTED, str(error))
        return Ended(Outcome.TAINTED, "its Spark job ended without a word")

    def _on_engine_unavailable(self, reason: str) -> None:
        self._happen(events.CannotStart(f"Spark is not running: {reason}"))

    # ---- a process, on its channel's thread

    def serve_attempt(self, channel: AttemptChannel, attach: Attach) -> None:
        """Serve a process, if it becomes an attempt, until it closes the channel. On the channel's thread."""
        number = next(self._numbers)
        process = AttachedProcess(channel, attach, f"task-answer-{self._spec.id}")
        self._processes[number] = process
        with log_context(self._spec.id):
            self._happen(events.Attached(number, attach.pid))
            if process.is_served():
                self._serve(number, process)
        process.answers.close()
        del self._processes[number]
        process.end_programs()

    def _serve(self, number: int, process: AttachedProcess) -> None:
        try:
            while (message := process.channel.receive()) is not None:
                self._handle_safely(number, process, message)
        finally:
            death = process.death()
            self._happen(events.Died(number, death.text(self._in_java), death.by_plugin))
            self._happen(events.ProcessGone(number))
            self._frames.cancel_all()
            if not self._frames.await_ended(_CANCEL_GRACE_S):
                log.warning("task %s: a frame job continues after the end of process %d", self._spec.id, process.pid)
            self._happen(events.FrameJobsEnded(number))

    def _handle_safely(self, number: int, process: AttachedProcess, message: object) -> None:
        try:
            self._handle(number, process, message)
        except Exception:
            log.exception("event %s of task %s could not be handled", type(message).__name__, self._spec.id)

    def _handle(self, number: int, process: AttachedProcess, message: object) -> None:
        match message:
            case Asked(question, ConfirmStart()):
                self._happen(events.ConfirmAsked(number, question))
            case Asked(question, request):
                self._answer_later(process, lambda: process.channel.send(self._answers.answered(question, request)))
            case RunFrameJob():
                self._answer_later(process, lambda: process.channel.send(self._frames.run_frame_job(message)))
            case CancelFrameJob(job):
                self._frames.cancel(job)
            case Log(logger, level, text, trace):
                log_again(logger, level, text, trace)
            case ExitCalled():
                process.exit_called = message
            case Ended():
                self._happen(events.Done(number, message))
            case _ if isinstance(message, ProcessEvent):
                if self._state.failures and _shows_commit(message):
                    self._happen(events.Committed())
                self._listener.on_event(self._spec.id, message)
            case _:
                raise ConnectError(f"unknown message {message!r} from the process of task {self._spec.id}")

    # ---- answers, on threads of their own

    def _answer_later(self, process: AttachedProcess, answer: Callable[[], object]) -> None:
        process.answers.submit(within(self._spec.id, answer))

    def _confirm(self, number: int, question: int | None) -> None:
        self._happen(events.Confirmed(number, self._answers.start_refusal(), question))


def _shows_commit(event: ProcessEvent) -> bool:
    match event:
        case OffsetsCommitted():
            return True
        case Metrics(values):
            return bool(values.get(_SINK_COMMITS_METRIC))
    return False
