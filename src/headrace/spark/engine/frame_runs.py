# SPDX-License-Identifier: Apache-2.0
"""Runs frame jobs in a process that has a JVM of Spark's: each task's in a session of its own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.api.errors import ConfigError
from headrace.spark.channel.messages import FrameJobEnded, RunFrameJob
from headrace.spark.process.frame_ends import BY, JOB_NUMBER, pull, push

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class FrameRuns:
    """Thread-safe."""

    def __init__(self, new_session: Callable[[], SparkSession]) -> None:
        self._new_session = new_session
        self._sessions: dict[str, SparkSession] = {}

    def run(self, key: str, group: str, description: str, request: RunFrameJob) -> FrameJobEnded:
        """Run a job of the task's launch ``key`` as ``group``; errors are those of Spark and of its code."""
        function = loaded(request.job.function)
        session = self._session(key)
        activate(session)
        context = session.sparkContext
        context.setJobGroup(group, description, interruptOnCancel=True)
        context.setLocalProperty(JOB_NUMBER, str(request.number))
        result = function(session, _input(session, request), request.job.settings)
        if result is None:
            return FrameJobEnded(request.number)
        rows = result.mapInArrow(functools.partial(push, request.endpoint), f"{BY} bigint").collect()
        return FrameJobEnded(request.number, tuple(row[BY] for row in rows), _schema(result))

    def forget(self, key: str) -> None:
        """No job of that launch follows."""
        self._sessions.pop(key, None)

    def _session(self, key: str) -> SparkSession:
        found = self._sessions.get(key)
        # Without a lock: code of plugins runs, for which no other task is to wait.
        return found if found is not None else self._sessions.setdefault(key, self._new_session())


def activate(session: SparkSession) -> None:
    """Make it the active one of this thread: Spark looks for formats written in Python there, and nowhere else."""
    type(session)._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)


def loaded(name: str) -> Callable[..., DataFrame | None]:
    """The function of a job. ConfigError if there is none of that name."""
    module, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"The worker has no function '{name}': {error}") from error
    if not callable(found):
        raise ConfigError(f"'{name}' is no function")
    loaded: Callable[..., DataFrame | None] = found
    return loaded


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
