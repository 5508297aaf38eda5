# SPDX-License-Identifier: Apache-2.0
"""The work of a process that several tasks share: each runs on a thread, with a channel of its own to the worker.

A broken channel, or a kill, ends the process with all its tasks: what they have open is fenced and aborted by their
next attempts (invariant 2). A task that has ended takes only its thread with it.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from headrace.logs.context import current_context, within
from headrace.logs.loggers import apply_levels
from headrace.model.process_end import ExitCalled, exits_reported
from headrace.model.process_group import kill_descendants
from headrace.model.set_back_clock import watch_clock
from headrace.spark.channel.endpoint import Link
from headrace.spark.channel.messages import Attach, LogLevels, RunTask, Start, StartShared, TaskOver
from headrace.spark.process.channel_link import ChannelLink, Sender, log_by, log_message
from headrace.spark.process.machine import this_machine
from headrace.task.task_protocol import Command
from headrace.task.worker_link import TaskControl
from headrace.task.worker_task import TaskFactories, run_task

if TYPE_CHECKING:
    from headrace.spark.channel.endpoint import Endpoint

log = logging.getLogger(__name__)
_REPORT_INTERVAL_S: Final = 5.0
"""Seconds between two reports of a task's metrics: each second they would take a quarter of a small task's Python."""


def run_tasks(endpoint: Endpoint, connection: Link, start: StartShared, factories: TaskFactories) -> None:
    """Run the tasks that the worker orders by ``connection``, until it sends STOP, and all have ended.

    On the main thread of the process, which ends when the worker is gone.
    """
    process = _SharedProcess(endpoint, connection, factories)
    with log_by(process.lines, start.log_levels), exits_reported(process.report_exit):
        watch_clock("This process")
        try:
            process.follow_orders()
        finally:
            # Programs that the plugins have started are of no use once all tasks have ended.
            kill_descendants(os.getpid())


class _SharedProcess:
    def __init__(self, endpoint: Endpoint, connection: Link, factories: TaskFactories) -> None:
        self._endpoint = endpoint
        self._connection = connection
        self._factories = factories
        self._sending = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self.lines = _TaskLines(self)

    def follow_orders(self) -> None:
        while (order := self._receive()) is not Command.STOP:
            match order:
                case RunTask(launch):
                    self._start(launch)
                case LogLevels(levels):
                    apply_levels(levels)
                case _:
                    log.error("unknown message %r from the worker", order)
        for thread in list(self._threads):
            thread.join()

    def send_message(self, message: object) -> None:
        """Send the worker a message that is about no single task. Any thread."""
        try:
            with self._sending:
                self._connection.send(message)
        except OSError:
            os._exit(1)

    def report_exit(self, caller: str | None) -> None:
        """Tell the worker that Java code has called ``System.exit``. Any thread."""
        self.send_message(ExitCalled(caller))

    def _receive(self) -> object:
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            os._exit(1)

    def _start(self, launch: str) -> None:
        thread = threading.Thread(target=self._run, args=(launch,), name=f"task-{launch}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _run(self, launch: str) -> None:
        try:
            self._attach(launch)
        except (EOFError, OSError) as error:
            log.debug("launch %s could not attach: %s", launch, error)
        except BaseException:
            log.exception("launch %s has failed", launch)
        finally:
            self._threads.discard(threading.current_thread())
            self.send_message(TaskOver(launch))

    def _attach(self, launch: str) -> None:
        connection = self._endpoint.connect()
        try:
            connection.send(Attach(launch, os.getpid(), this_machine()))
            start = connection.recv()
        except BaseException:
            connection.close()
            raise
        if isinstance(start, Start):
            within(start.spec.id, lambda: self._run_task(connection, start))()
        else:
            connection.close()  # the worker does not want this attempt any more

    def _run_task(self, connection: Link, start: Start) -> None:
        link = ChannelLink(connection, TaskControl(_REPORT_INTERVAL_S), start.results)
        link.control.set_paused(start.paused)
        apply_levels(start.log_levels)
        with self.lines.sent_to(link):
            link.listen()
            try:
                link.finish(run_task(start.spec, link, link.control, self._factories))
            finally:
                link.close()


class _TaskLines(logging.Handler):
    """Sends log lines by the channel of the task that they are about; by the process' own if they are about none."""

    def __init__(self, process: Sender) -> None:
        super().__init__()
        self._process = process
        self._links: dict[str, Sender] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self._links.get(current_context(), self._process).send_message(log_message(record))

    @contextmanager
    def sent_to(self, link: Sender) -> Iterator[None]:
        """Send lines of this thread's context by ``link`` within the block."""
        context = current_context()
        self._links[context] = link
        try:
            yield
        finally:
            del self._links[context]
