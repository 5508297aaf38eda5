# SPDX-License-Identifier: Apache-2.0
"""The process' end of a task channel."""

from __future__ import annotations

import itertools
import logging
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol, cast

from headrace.api.error_text import clean_text
from headrace.api.errors import ConfigError
from headrace.kafka.errors import RetriableKafkaError
from headrace.logs.context import in_same_context
from headrace.logs.formats import message_of, trace_of
from headrace.logs.loggers import apply_levels
from headrace.model.process_end import ExitCalled
from headrace.spark.channel.endpoint import Link
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.spark.channel.messages import FrameJobEnded, Log, LogLevels
from headrace.spark.process.process_frames import ProcessFrames
from headrace.task.task_protocol import (
    A,
    Answered,
    Asked,
    Command,
    Ended,
    Measured,
    ProcessEvent,
    Request,
    TopicsUsed,
)
from headrace.task.worker_link import TaskControl

if TYPE_CHECKING:
    from headrace.task.task_protocol import AnyRequest

log = logging.getLogger(__name__)
_CLOSE_TIMEOUT_S: Final = 10.0
"""Seconds that the worker has to end its side of a channel."""


class ChannelLink:
    """``headrace.task.worker_link.WorkerLink`` over a connection.

    The task's threads send and wait for answers; a listener thread takes commands. A broken channel ends the process
    at once: what it has open is fenced and aborted by the next attempt (invariant 2).
    """

    def __init__(self, connection: Link, control: TaskControl, results: ResultLimit | None = None) -> None:
        """``results`` limits the results of frame jobs."""
        self.control = control
        self._connection = connection
        self._sending = threading.Lock()
        self._numbers = itertools.count()
        self._answers: dict[int, SimpleQueue[Answered]] = {}
        """A queue for the answer to each request that is under way, by the request's number."""
        self._finished = False
        self._listener = threading.Thread()
        self._reported_topics: set[str] = set()
        self.frames = ProcessFrames(self.send_message, connection, results)

    def listen(self) -> None:
        """Start the listener thread."""
        self._listener = threading.Thread(target=in_same_context(self._listen), name="task-channel", daemon=True)
        self._listener.start()

    def send(self, event: ProcessEvent) -> None:
        if isinstance(event, TopicsUsed):
            self._send_topics(event)
        else:
            self.send_message(event)

    def ask(self, request: Request[A]) -> A:
        number = next(self._numbers)
        answers = self._answers[number] = SimpleQueue()
        self.send_message(Asked(number, cast("AnyRequest", request)))
        answered = answers.get()
        refusal = answered.refusal
        if refusal is None:
            answer: A = answered.answer
            return answer
        if refusal.for_good:
            raise ConfigError(refusal.reason)
        raise RetriableKafkaError(request.unanswered + refusal.reason)

    def send_message(self, message: object) -> None:
        """Send a message to the worker. Any thread."""
        try:
            with self._sending:
                self._connection.send(message)
        except OSError:
            self._on_broken_channel()

    def report_exit(self, caller: str | None) -> None:
        """Tell the worker that Java code has called ``System.exit``. Any thread."""
        self.send_message(ExitCalled(caller))

    def finish(self, ended: Ended) -> None:
        """Report the attempt's outcome. The channel stays open as long as the process lives: its end proves its end."""
        self.send_message(Measured(self.control.progress.measure()))
        self.send_message(ended)
        self._finished = True

    def close(self) -> None:
        """End the channel of an attempt whose process lives on, which proves its end; after ``finish``."""
        self.frames.close()
        with socket.socket(fileno=os.dup(self._connection.fileno())) as same, suppress(OSError):
            # The worker gets all that was sent, then ends its side, so that nothing is left to be read here.
            same.shutdown(socket.SHUT_WR)
            self._listener.join(_CLOSE_TIMEOUT_S)
            same.shutdown(socket.SHUT_RDWR)
        self._listener.join()
        self._connection.close()

    def _send_topics(self, event: TopicsUsed) -> None:
        reported = self._reported_topics
        new = [topic for topic in event.topics if topic not in reported]
        if new:
            self.send_message(TopicsUsed(new))
            # After a FORGET_TOPICS meanwhile this is the former set, and they are reported again.
            reported.update(new)

    def _listen(self) -> None:
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                self._on_broken_channel()
                return
            self._handle(message)

    def _handle(self, message: object) -> None:
        match message:
            case Answered(number) if number in self._answers:
                self._answers.pop(number).put(message)
            case FrameJobEnded():
                self.frames.on_job_ended(message)
            case Command.STOP:
                # The plugin's stop runs on a thread of its own: should it hang, the channel continues.
                stop = in_same_context(self.control.stop)
                threading.Thread(target=stop, name="task-stop", daemon=True).start()
            case Command.PAUSE | Command.RESUME:
                self.control.set_paused(message is Command.PAUSE)
            case Command.FORGET_TOPICS:
                self._reported_topics = set()
            case Command.MEASURE:
                self.send_message(Measured(self.control.progress.measure()))
            case LogLevels(levels):
                apply_levels(levels)
            case _:
                log.error("unknown message %r from the worker", message)

    def _on_broken_channel(self) -> None:
        if not self._finished:
            os._exit(1)


class Sender(Protocol):
    """A connection to the worker."""

    def send_message(self, message: object) -> None:
        """Send a message. Any thread."""


class _ChannelHandler(logging.Handler):
    def __init__(self, link: Sender) -> None:
        super().__init__()
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        self._link.send_message(log_message(record))


def log_message(record: logging.LogRecord) -> Log:
    """Return a log line of this process for the worker's log."""
    return Log(clean_text(record.name), record.levelno, message_of(record), trace_of(record))


def log_through(link: Sender, levels: Mapping[str, int]) -> AbstractContextManager[None]:
    """Send this process' log lines to the worker while the task runs; ``levels`` are the worker's loggers'."""
    return log_by(_ChannelHandler(link), levels)


@contextmanager
def log_by(handler: logging.Handler, levels: Mapping[str, int]) -> Iterator[None]:
    """Have ``handler`` take this process' log lines within the block; ``levels`` are the worker's loggers'."""
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    apply_levels(levels)
    try:
        yield
    finally:
        root.removeHandler(handler)
