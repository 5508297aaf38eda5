# SPDX-License-Identifier: Apache-2.0
"""Functions for executors at both ends of a frame job: input from the task's process, and results back to it.

The protocol: first ``Pull`` or ``Push``; then each message is an Arrow stream; an empty message ends the data.
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
"""The Spark local property with the number of the frame job that a Spark job belongs to."""
END_OF_DATA: Final = b""
ATTEMPT_COLUMN: Final = "attempt"
"""The column that ``push`` yields."""


@dataclass(frozen=True, slots=True)
class Pull:
    """A request for the input of a job."""

    number: int


@dataclass(frozen=True, slots=True)
class Push:
    """The announcement of a partition of a job's result, which follows and is acknowledged at its end.

    ``attempt`` is Spark's id of the attempt, unique in the application.
    """

    number: int
    partition: int
    attempt: int


def pull(endpoint: Endpoint, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the job's input in place of the one row that the job begins with; for ``mapInArrow``."""
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
    """Deliver a partition of the result, and yield one row with the attempt's id; for ``mapInArrow``."""
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    with closing(endpoint.connect()) as link:
        link.send(Push(_number(context), context.partitionId(), context.taskAttemptId()))
        for batch in batches:
            link.send_bytes(to_bytes(batch))
        link.send_bytes(END_OF_DATA)
        link.recv_bytes()
    yield pa.RecordBatch.from_pydict({ATTEMPT_COLUMN: pa.array([context.taskAttemptId()], pa.int64())})


def to_bytes(data: pa.RecordBatch | pa.Table) -> memoryview:
    """Serialize as an Arrow stream, schema included."""
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
