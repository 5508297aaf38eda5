# SPDX-License-Identifier: Apache-2.0
"""Spark DataFrames for tasks: short jobs that a task has its worker run, in the midst of its own long one.

A task's code runs on an executor, where there is no Spark session. Its worker is the Spark driver; `Frames` asks it to
run a *frame job*: an ordinary Spark job that is a pure function of its input. The data goes between the executors and
the task's process, not over the worker. Whatever Spark repeats of a frame job, the task takes each part of the result
once.
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
    """Runs in the worker. Given the session, the input (None where there is none) and the job's settings, it gives the
    frame whose rows go back to the task; None if it has run what it had to, as a writer has.

    The session is the task's own: its temporary views and settings are not seen by other tasks. A `ConnectError` that
    it raises is raised by `Frames`, and so is what Spark's analysis finds wrong. It may be called again for the same
    batch, and in another worker, so all it does besides must bear to be repeated.
    """


@dataclass(frozen=True, slots=True)
class FrameJob:
    """What is to be run.

    `function` is the `module:function` of a `FrameFunction` that the worker can import, `plugin.path` included.
    `settings` is all that it depends on besides its input. `description` follows the task's name in Spark's UI.
    """

    function: str
    settings: Mapping[str, str]
    description: str = ""


class Frames(Protocol):
    """Runs frame jobs, one at a time. On the task's thread, which waits for them.

    Raises:
        RetriableError: Spark, an executor or the other side of the data failed; it may work later.
        ConfigError, DataError: what was asked for or the data is at fault; with what Spark says and where.
    """

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        """The whole result, in the order of the frame's partitions; an empty table without columns if there is none.

        `table` is the function's input. It and the result have to fit into memory.
        """

    def stream(self, job: FrameJob) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """The result batch by batch, partition after partition in order, however large it is.

        What is not taken yet holds the job up. To leave the context ends the job. The RetriableError of an attempt
        that is lost in the middle means that the caller has to begin anew behind what it has.
        """
