# SPDX-License-Identifier: Apache-2.0
"""What executors run at both ends of a frame job: the way from the task's process, and back to it.

What is said: first ``Pull`` or ``Push``. Data are messages of one Arrow stream each; an empty message ends them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.spark.channel.endpoint import Endpoint

JOB_NUMBER: Final = "headrace.frame-job"
"""The Spark local property that tells which of a process' frame jobs a Spark job is."""
END: Final = b""
BY: Final = "attempt"
"""The column that ``push`` gives."""


@dataclass(frozen=True, slots=True)
class Pull:
    """The input of a job is wanted."""

    number: int


@dataclass(frozen=True, slots=True)
class Push:
    """A partition of a job's result follows. When it has ended a message tells that it was heard to its end.

    ``attempt``: Spark's id of the attempt at it, which no other one in the application has.
    """

    number: int
    partition: int
    attempt: int


def pull(endpoint: Endpoint, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow``: the job's input in place of the one row that the job begins with."""
    from pyspark import TaskContext

    for _ in rows:
        pass
    context = TaskContext.get()
    assert context is not None
    with closing(endpoint.connect()) as link:
        link.send(Pull(_number(context)))
        while data := link.recv_bytes():
            yield from from_bytes(data)


def push(endpoint: Endpoint, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow``: brings a partition of the result, and gives one row to say by which attempt."""
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    with closing(endpoint.connect()) as link:
        link.send(Push(_number(context), context.partitionId(), context.taskAttemptId()))
        for batch in batches:
            link.send_bytes(to_bytes(batch))
        link.send_bytes(END)
        link.recv_bytes()
    yield pa.RecordBatch.from_pydict({BY: pa.array([context.taskAttemptId()], pa.int64())})


def to_bytes(data: pa.RecordBatch | pa.Table) -> memoryview:
    """As an Arrow stream, schema included."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write(data)
    return memoryview(sink.getvalue())


def from_bytes(data: bytes) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    return iter(pa.ipc.open_stream(pa.BufferReader(data)))


def _number(context: object) -> int:
    from pyspark import TaskContext

    assert isinstance(context, TaskContext)
    return int(context.getLocalProperty(JOB_NUMBER) or -1)
