# SPDX-License-Identifier: Apache-2.0
"""The execution of frame jobs in a process with a JVM of Spark's: each task's in a session of its own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.api.errors import ConfigError
from headrace.spark.channel.messages import FrameJobEnded, RunFrameJob
from headrace.spark.process.frame_ends import ATTEMPT_COLUMN, JOB_NUMBER, pull, push

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class FrameRuns:
    """The sessions of tasks, and the jobs that run in them. Thread-safe."""

    def __init__(self, new_session: Callable[[], SparkSession]) -> None:
        self._new_session = new_session
        self._sessions: dict[str, SparkSession] = {}

    def run_frame_job(self, key: str, group: str, description: str, request: RunFrameJob) -> FrameJobEnded:
        """Run a job of the task's launch ``key`` as ``group``; errors are those of Spark and of its code."""
        function = load_function(request.job.function)
        session = self._session(key)
        activate(session)
        context = session.sparkContext
        context.setJobGroup(group, description, interruptOnCancel=True)
        context.setLocalProperty(JOB_NUMBER, str(request.number))
        result = function(session, _input(session, request), request.job.settings)
        if result is None:
            return FrameJobEnded(request.number)
        rows = result.mapInArrow(functools.partial(push, request.endpoint), f"{ATTEMPT_COLUMN} bigint").collect()
        return FrameJobEnded(request.number, tuple(row[ATTEMPT_COLUMN] for row in rows), _schema(result))

    def close_session(self, key: str) -> None:
        """Forget the session of the launch ``key``: no job of it follows."""
        self._sessions.pop(key, None)

    def _session(self, key: str) -> SparkSession:
        found = self._sessions.get(key)
        # Without a lock: code of plugins runs, for which other tasks must not wait.
        return found if found is not None else self._sessions.setdefault(key, self._new_session())


def activate(session: SparkSession) -> None:
    """Make ``session`` this thread's active one: only there Spark looks for formats written in Python."""
    type(session)._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)


def load_function(name: str) -> Callable[..., DataFrame | None]:
    """Import and return a job's function. ConfigError if there is none of that name."""
    module, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"The worker has no function '{name}': {error}") from error
    if not callable(found):
        raise ConfigError(f"'{name}' is no function")
    function: Callable[..., DataFrame | None] = found
    return function


def _input(session: SparkSession, request: RunFrameJob) -> DataFrame | None:
    if request.schema is None:
        return None
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(pa.ipc.read_schema(pa.py_buffer(request.schema)), prefer_timestamp_ntz=True)
    one_row = session.range(1, numPartitions=1)
    return one_row.mapInArrow(functools.partial(pull, request.endpoint), schema)


def _schema(frame: DataFrame) -> bytes:
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(frame.schema, timezone="UTC")
    serialized: bytes = schema.serialize().to_pybytes()
    return serialized
