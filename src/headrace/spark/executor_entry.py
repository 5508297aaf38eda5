# SPDX-License-Identifier: Apache-2.0
"""What Spark runs in a task's process: attach to the worker, run one attempt, tell how it ended."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from multiprocessing.connection import Client
from typing import TYPE_CHECKING

from headrace.spark.channel_link import ChannelLink, log_through
from headrace.spark.messages import Attach, Start
from headrace.task.sink.sink_task_factory import sink_task
from headrace.task.source.source_task_factory import source_task
from headrace.task.task_spec import TaskKind
from headrace.task.worker_link import TaskControl
from headrace.task.worker_task import Ended, TaskFactories, run_task

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.spark.task_channel import Address

TASK_KEY = "headrace.task"
"""The Spark local property that names the launch a job is for; a job without it only warms Spark up."""
FACTORIES: TaskFactories = {TaskKind.SOURCE: source_task, TaskKind.SINK: sink_task}


def run_attempt(address: Address, authkey: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of ``mapInArrow``. The input is consumed first: Spark loses a worker that leaves some of it."""
    import pyarrow as pa
    from pyspark import TaskContext

    for _ in batches:
        pass
    context = TaskContext.get()
    key = context.getLocalProperty(TASK_KEY) if context is not None else None
    if key:
        _attempt(address, authkey, key)
    yield pa.RecordBatch.from_pydict({"done": [True]})


def _attempt(address: Address, authkey: bytes, key: str) -> None:
    connection = Client(address, authkey=authkey)
    try:
        connection.send(Attach(key, os.getpid(), socket.gethostname()))
        start = connection.recv()
    except (EOFError, OSError):
        # The worker does not want this attempt any more.
        return
    if not isinstance(start, Start):
        return
    _run(ChannelLink(connection, TaskControl()), start)


def _run(link: ChannelLink, start: Start) -> None:
    link.control.set_paused(start.paused)
    with log_through(link, start.log_levels):
        # After its levels are there: the worker may send others at any time.
        link.listen()
        ended: Ended = run_task(start.spec, link, link.control, FACTORIES)
    link.finish(ended)
