# SPDX-License-Identifier: Apache-2.0
"""The process' end of a task channel."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Protocol

from headrace.api.error_text import clean_text
from headrace.api.errors import ConfigError, RetriableError
from headrace.kafka.errors import RetriableKafkaError
from headrace.logs.loggers import apply_levels
from headrace.logs.records import message_of, trace_of
from headrace.spark.channel import messages
from headrace.spark.channel.endpoint import Link
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.spark.channel.messages import Command, OffsetsRead, OffsetsWritten, Refused
from headrace.spark.process.process_frames import ProcessFrames
from headrace.task.worker_link import TaskControl
from headrace.task.worker_task import Ended


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
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._requesting = threading.Lock()
        self._finished = False
        self._reported_topics: set[str] = set()
        self.frames = ProcessFrames(self.send, connection, results)

    def listen(self) -> None:
        """Start the listener thread."""
        threading.Thread(target=self._listen, name="task-channel", daemon=True).start()

    def confirm_start(self) -> bool:
        answer = self._request(messages.ConfirmStart())
        if isinstance(answer, Refused) and answer.for_good:
            raise ConfigError(answer.reason)
        if isinstance(answer, Refused):
            raise RetriableKafkaError(f"the worker could not tell whether the task may start: {answer.reason}")
        return answer is Command.GO

    def read_offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        answer: OffsetsRead = self._request(messages.ReadOffsets(partitions))
        if answer.error is not None and answer.for_good:
            raise ConfigError(answer.error)
        if answer.error is not None:
            raise RetriableKafkaError(f"source offsets could not be read: {answer.error}")
        return list(answer.offsets)

    def write_offsets(self, records: Mapping[bytes, bytes | None]) -> None:
        answer: OffsetsWritten = self._request(messages.WriteOffsets(records))
        if answer.error is not None:
            raise RetriableError(answer.error)

    def report_running(self) -> None:
        self.send(messages.Running())

    def report_paused(self) -> None:
        self.send(messages.Paused())

    def report_offsets_committed(self, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> None:
        self.send(messages.OffsetsCommitted(offsets))

    def report_topics_used(self, topics: Sequence[str]) -> None:
        reported = self._reported_topics
        new = [topic for topic in topics if topic not in reported]
        if new:
            self.send(messages.TopicsUsed(new))
            # After a FORGET_TOPICS meanwhile this is the former set, and they are reported again.
            reported.update(new)

    def report_metrics(self, values: Mapping[str, float]) -> None:
        self.send(messages.Metrics(values))

    def send(self, message: object) -> None:
        """Send a message to the worker. Any thread."""
        try:
            with self._sending:
                self._connection.send(message)
        except OSError:
            self._on_broken_channel()

    def finish(self, ended: Ended) -> None:
        """Report the attempt's outcome. The channel stays open as long as the process lives: its end proves its end."""
        self.send(messages.Done(ended))
        self._finished = True

    def _request(self, request: object) -> Any:
        # The task's own threads may request offsets too, and an answer does not name its request.
        with self._requesting:
            self.send(request)
            return self._answers.get()

    def _listen(self) -> None:
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                self._on_broken_channel()
                return
            self._handle(message)

    def _handle(self, message: object) -> None:
        if message is Command.STOP:
            # The plugin's stop runs on a thread of its own: should it hang, the channel goes on.
            threading.Thread(target=self.control.stop, name="task-stop", daemon=True).start()
        elif message in (Command.PAUSE, Command.RESUME):
            self.control.set_paused(message is Command.PAUSE)
        elif message is Command.FORGET_TOPICS:
            self._reported_topics = set()
        elif isinstance(message, messages.LogLevels):
            apply_levels(message.levels)
        elif isinstance(message, messages.FrameJobEnded):
            self.frames.on_job_ended(message)
        else:
            self._answers.put(message)

    def _on_broken_channel(self) -> None:
        if not self._finished:
            os._exit(1)


class Sender(Protocol):
    """A connection to the worker."""

    def send(self, message: object) -> None:
        """Send a message. Any thread."""


class _ChannelHandler(logging.Handler):
    def __init__(self, link: Sender) -> None:
        super().__init__()
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        self._link.send(messages.Log(clean_text(record.name), record.levelno, message_of(record), trace_of(record)))


@contextmanager
def log_through(link: Sender, levels: Mapping[str, int]) -> Iterator[None]:
    """Send this process' log lines to the worker while the task runs; ``levels`` are the worker's loggers'."""
    root, handler = logging.getLogger(), _ChannelHandler(link)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    apply_levels(levels)
    try:
        yield
    finally:
        root.removeHandler(handler)
