# SPDX-License-Identifier: Apache-2.0
"""A process that several tasks share, as the worker has it: the Spark job that it is, and the launches in it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from headrace.api.error_text import error_line
from headrace.api.errors import ConnectError
from headrace.logs.formats import log_again
from headrace.logs.loggers import Loggers
from headrace.model.process_end import ExitCalled
from headrace.spark.channel.messages import Attach, Log, LogLevels, RunTask, StartShared, TaskOver
from headrace.spark.channel.task_channel import AttemptChannel
from headrace.spark.engine.spark_engine import SparkEngine, SparkJobError
from headrace.spark.task.attached_process import AttachedProcess
from headrace.task.task_protocol import Command

log = logging.getLogger(__name__)
_CHECK_INTERVAL_S = 0.2
_ENDED_EARLY = "the Spark job of its process ended before it"


@dataclass(slots=True)
class _Member:
    """A launch in a process. ``over``: its process has reported its end; ``served``: an attempt's channel is open."""

    on_unavailable: Callable[[str], None]
    over: bool = False
    served: int = 0
    failure: str | None = None
    ended: threading.Event = field(default_factory=threading.Event)


class SharedProcess:
    """One Spark job whose process runs tasks, each on a thread of its own. Thread-safe.

    It takes launches until ``closed``: when the last one has left, or when the process is lost. Then it ends all, whose
    next attempts run in other processes. A process that Spark starts again for the same job is not used.
    """

    def __init__(self, key: str, limit: int, engine: SparkEngine, loggers: Loggers) -> None:
        """``key`` is the job's group in Spark; ``limit`` is the number of launches at a time."""
        self.key = key
        self.limit = limit
        self.engine = engine
        self._loggers = loggers
        self._lock = threading.Lock()
        self._members: dict[str, _Member] = {}
        self._process: AttachedProcess | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """True if no launch can join any more."""
        return self._closed

    # ---- for launches

    def start(self) -> None:
        """Submit the job, on a thread of its own."""
        threading.Thread(target=self._run_job, name=self.key, daemon=True).start()

    def join(self, launch: str, on_unavailable: Callable[[str], None]) -> bool:
        """Have the process run a launch's task. Return False if it is full, or closed. Does not block."""
        with self._lock:
            if self._closed or len(self._members) >= self.limit:
                return False
            self._members[launch] = _Member(on_unavailable)
            if self._process is not None:
                self._process.channel.send(RunTask(launch))
            return True

    def await_end(self, launch: str, given_up: Callable[[], bool]) -> None:
        """Wait for the end of the launch's attempt, then leave. SparkJobError unless the attempt ended by itself.

        Before there is a process, the wait ends when ``given_up`` returns True.
        """
        member = self._members[launch]
        while self._process is None and not member.ended.wait(_CHECK_INTERVAL_S):
            if given_up() and self._process is None:
                break
        else:
            member.ended.wait()
        self._leave(launch)
        if member.failure is not None:
            raise SparkJobError(member.failure)

    def cancel(self, launch: str) -> None:
        """End the launch's attempt at once, and with it those of all others, as one process has all of them."""
        with self._lock:
            member, process = self._members.get(launch), self._process
        if member is None:
            return
        if process is not None:
            process.kill()
        else:
            member.failure = "it was cancelled"
            member.ended.set()

    @contextmanager
    def serving(self, launch: str) -> Iterator[None]:
        """Have the launch's attempt not be over while its channel is served within the block."""
        self._note(launch, served=1)
        try:
            yield
        finally:
            self._note(launch, served=-1)

    # ---- for the slot watch, as a ``WaitingTask``

    @property
    def without_process(self) -> bool:
        """True while its Spark job has no process."""
        return self._process is None and not self._closed

    def launches(self) -> list[str]:
        with self._lock:
            return list(self._members)

    # ---- the job's and the channel's threads

    def serve(self, channel: AttemptChannel, attach: Attach) -> None:
        """Serve the process until it closes the channel. On the channel's thread."""
        process = AttachedProcess(channel, attach, self.key)
        with self._lock:
            if self._closed or self._process is not None:
                return
            channel.send(StartShared(self._loggers.set_levels()))
            for launch in self._members:
                channel.send(RunTask(launch))
            self._process = process
        try:
            while (message := channel.receive()) is not None:
                self._handle(process, message)
        finally:
            death = process.death().text(in_java=False)
            if self._close(f"process {process.pid}, which it shared with other tasks, was lost{death}"):
                self.engine.cancel(self.key)  # or Spark would start another one
            process.end_programs()

    def send_log_levels(self) -> None:
        """Send the worker's log levels, which have changed, to the process."""
        if self._process is not None:
            self._process.channel.send(LogLevels(self._loggers.set_levels()))

    def _handle(self, process: AttachedProcess, message: object) -> None:
        match message:
            case ExitCalled():
                process.exit_called = message
            case TaskOver(launch):
                self._note(launch, over=True)
            case Log(logger, level, text, trace):
                log_again(logger, level, text, trace)
            case _:
                log.error("unknown message %r from the shared process %s", message, self.key)

    def _run_job(self) -> None:
        try:
            self.engine.run_task_job(self.key, self.key, lambda: self._closed, self._on_unavailable)
            self._close(_ENDED_EARLY)
        except ConnectError as error:
            self._close(str(error))
        except BaseException as error:
            self._close(f"the worker's thread of its process died of {error_line(error)}")
            raise

    def _on_unavailable(self, reason: str) -> None:
        with self._lock:
            members = list(self._members.values())
        for member in members:
            member.on_unavailable(reason)

    def _note(self, launch: str, *, served: int = 0, over: bool = False) -> None:
        """Note what has become of a launch, which has ended when it is over and its channel is not served any more."""
        with self._lock:
            member = self._members.get(launch)
            if member is not None:
                member.served += served
                member.over |= over
                if member.over and not member.served:
                    member.ended.set()

    def _leave(self, launch: str) -> None:
        """Remove a launch; the process ends with the last one."""
        with self._lock:
            self._members.pop(launch, None)
            if self._members or self._closed:
                return
            self._closed = True
            process = self._process
        if process is not None:
            process.channel.send(Command.STOP)
        else:
            self.engine.cancel(self.key)

    def _close(self, failure: str) -> bool:
        """End all launches, for this reason. Return False if it was closed before."""
        with self._lock:
            before, self._closed = self._closed, True
            for member in self._members.values():
                if not member.ended.is_set():
                    member.failure = failure
                    member.ended.set()
            return not before
