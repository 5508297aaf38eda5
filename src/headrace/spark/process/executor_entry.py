# SPDX-License-Identifier: Apache-2.0
"""The function that Spark runs in a task's process: attach to the worker, run one attempt, report its outcome."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from multiprocessing import AuthenticationError
from typing import TYPE_CHECKING
from uuid import uuid4

from headrace.api.errors import ConnectError
from headrace.model.process_end import exits_reported
from headrace.model.process_group import kill_descendants, outlive_stop_signals, take_orphans_in
from headrace.model.set_back_clock import watch_clock
from headrace.spark.channel.messages import MARK, Attach, Start, StartShared
from headrace.spark.process.channel_link import ChannelLink, log_through
from headrace.spark.process.machine import this_machine
from headrace.spark.process.printed_output import OutputPipe
from headrace.spark.process.shared_entry import run_tasks
from headrace.task.sink.sink_task_factory import create_sink_task
from headrace.task.source.source_task_factory import create_source_task
from headrace.task.task_protocol import Ended
from headrace.task.task_spec import TaskKind
from headrace.task.worker_link import TaskControl
from headrace.task.worker_task import TaskFactories, run_task

if TYPE_CHECKING:
    from headrace.spark.channel.endpoint import Endpoint, Link

TASK_KEY = "headrace.task"
"""The Spark local property that names the launch a job is for; a job without it only warms Spark up."""
FACTORIES: TaskFactories = {TaskKind.SOURCE: create_source_task, TaskKind.SINK: create_sink_task}


def run_attempt(endpoint: Endpoint, elements: Iterator[object]) -> Iterator[None]:
    """Run an attempt, as ``mapPartitions``' function. It consumes the input: Spark gives up a worker otherwise."""
    from pyspark import TaskContext

    for _ in elements:
        pass
    context = TaskContext.get()
    key = context.getLocalProperty(TASK_KEY) if context is not None else None
    if key:
        _attach_and_run(endpoint, key)
    yield None


def _attach_and_run(endpoint: Endpoint, key: str) -> None:
    outlive_stop_signals()
    take_orphans_in()
    connection = _connect(endpoint)
    output, beside = OutputPipe(), isinstance(endpoint.address, str)
    os.environ[MARK] = mark = str(uuid4())  # by which the worker finds programs if this process dies
    try:
        connection.send(Attach(key, os.getpid(), this_machine(), prints=beside, mark=mark))
        if beside:
            output.hand_over(connection)
        start = connection.recv()
    except (EOFError, OSError):
        # The worker does not want this attempt any more.
        return
    if isinstance(start, StartShared):
        with _printed(output, beside):
            run_tasks(endpoint, connection, start, FACTORIES)
    elif isinstance(start, Start):
        link = ChannelLink(connection, TaskControl(), start.results)
        link.finish(_run_task(link, start, _printed(output, beside)))


def _printed(output: OutputPipe, beside: bool) -> AbstractContextManager[None]:
    """Have what is printed go to the worker, if it is ``beside`` this process, or be logged while a block lasts."""
    if not beside:
        return output.logged_here()
    output.redirect()
    return nullcontext()


def _connect(endpoint: Endpoint) -> Link:
    """Connect to the worker. The error is for Spark's log, and for the task's status if all attempts end so."""
    try:
        return endpoint.connect()
    except (EOFError, OSError, AuthenticationError) as error:
        reason = str(error) or type(error).__name__
        raise ConnectError(f"the worker cannot be reached at {endpoint.address}: {reason}") from error


def _run_task(link: ChannelLink, start: Start, output: AbstractContextManager[None]) -> Ended:
    link.control.set_paused(start.paused)
    with log_through(link, start.log_levels), output, exits_reported(link.report_exit):
        # After its levels are there: the worker may send others at any time.
        link.listen()
        watch_clock("This attempt")
        try:
            return run_task(start.spec, link, link.control, FACTORIES)
        finally:
            # Programs that the plugins have started are of no use once the task has ended.
            kill_descendants(os.getpid())
