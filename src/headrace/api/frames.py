# SPDX-License-Identifier: Apache-2.0
"""Frame jobs: short Spark jobs on DataFrames that a task requests from its worker. Not in Java.

A task's code runs on an executor, where there is no Spark session. The worker is the Spark driver; `Frames` requests a
*frame job* from it: an ordinary Spark job that is a pure function of its input. The data goes directly between the
executors and the task's process. Whatever Spark repeats of a frame job, the task takes each part of the result once
(invariant 8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    FrameFunction = Callable[[SparkSession, DataFrame | None, Mapping[str, str]], DataFrame | None]
    """A function that runs in the worker: from the session, the input (None if there is none) and the job's settings to
    the frame whose rows go back to the task; None if there are none, as for a writer that ran its own action.

    The session is the task's own: other tasks do not see its temporary views and settings. `Frames` raises each
    `ConnectError` that it raises, and the errors of Spark's analysis. The same batch may be repeated, also by another
    worker, so its side effects must be idempotent.
    """


@dataclass(frozen=True, slots=True)
class FrameJob:
    """One frame job.

    `function` names a `FrameFunction` as `module:function`; the worker imports it, also from `plugin.path`. `settings`
    is everything that it depends on besides its input. `description` follows the task's name in Spark's UI. `changes`
    says that it changes something outside, such as files: previews do not run it.
    """

    function: str
    settings: Mapping[str, str]
    description: str = ""
    changes: bool = False


class Frames(Protocol):
    """Runs frame jobs, one at a time. For the task's thread, which blocks until they end.

    Raises:
        RetriableError: Spark, an executor or a connection failed; a retry may succeed.
        ConfigError, DataError: the job or its data is not valid; with Spark's message and position.
    """

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        """Run a job on `table` and return its result, in the order of the frame's partitions.

        Without a result it is an empty table without columns. `table` and the result must fit into memory.
        """

    def stream(self, job: FrameJob) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """Run a job and iterate over its result in batches, partition by partition in order, of any size.

        The job waits while batches are not taken. Leaving the context ends the job. After a RetriableError in the
        middle, from a lost attempt, the caller has to start a new job behind the rows that it has.
        """
