# SPDX-License-Identifier: Apache-2.0
"""``headrace.api.frames.Frames`` in a task's process: asks the worker to run jobs, and serves their executors."""

from __future__ import annotations

import itertools
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.api.errors import DataError
from headrace.api.frames import FrameJob
from headrace.spark.channel.endpoint import Interface, Link
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.spark.channel.messages import CancelFrameJob, FrameJobEnded, RunFrameJob
from headrace.spark.channel.tls_connection import TlsConnection
from headrace.spark.errors.frame_errors import ERRORS
from headrace.spark.process.frame_exchange import FrameExchange, FrameResult

if TYPE_CHECKING:
    import pyarrow as pa


class ProcessFrames:
    """The task's thread only, but for ``ended``. Costs nothing before its first job."""

    def __init__(self, send: Callable[[object], None], connection: Link, limit: ResultLimit | None = None) -> None:
        """``send`` takes messages for the worker, to which ``connection`` leads: executors come the same way.

        ``limit`` is that of what ``run`` gives.
        """
        self._send = send
        self._connection = connection
        self._limit = limit
        self._numbers = itertools.count()
        self._exchange: FrameExchange | None = None

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        import pyarrow as pa

        result = FrameResult(_for_spark(table), streamed=False, limit=self._limit)
        with self._running(job, result):
            ended = result.await_end()
            _check(ended)
            if ended.schema is None:
                return pa.table({})
            batches = result.delivered(ended.attempts)
            schema = batches[0].schema if batches else pa.ipc.read_schema(pa.py_buffer(ended.schema))
            return pa.Table.from_batches(batches, schema)

    @contextmanager
    def stream(self, job: FrameJob) -> Iterator[Iterator[pa.RecordBatch]]:
        result = FrameResult(None, streamed=True)
        with self._running(job, result):
            yield _streamed(result)

    def ended(self, ended: FrameJobEnded) -> None:
        """The worker tells. On the thread that listens to it."""
        if self._exchange is not None:
            self._exchange.ended(ended)

    @contextmanager
    def _running(self, job: FrameJob, result: FrameResult) -> Iterator[None]:
        if self._exchange is None:
            self._exchange = FrameExchange(_place(self._connection))
        exchange, number = self._exchange, next(self._numbers)
        schema = None if result.table is None else result.table.schema.serialize().to_pybytes()
        exchange.open(number, result)
        try:
            self._send(RunFrameJob(number, job, exchange.endpoint, schema, result.streamed))
            yield
        finally:
            if not result.has_ended:
                self._send(CancelFrameJob(number))
            exchange.close(number)


def _streamed(result: FrameResult) -> Iterator[pa.RecordBatch]:
    yield from result.batches()
    _check(result.await_end())


def _check(ended: FrameJobEnded) -> None:
    if ended.fault is not None:
        raise ERRORS[ended.fault](ended.error)


def _place(connection: Link) -> Path | Interface:
    """Where executors reach this process: as the worker does."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        if same.family == socket.AF_UNIX:
            # The worker's directory, which only we may enter and which goes with the worker.
            return Path(same.getpeername()).parent / f"frames-{os.getpid()}-{secrets.token_hex(4)}.sock"
        host = same.getsockname()[0]
    return Interface(host, host, tls=isinstance(connection, TlsConnection))


def _for_spark(table: pa.Table | None) -> pa.Table | None:
    """In the types that Spark has for it. DataError if it has none for one of them."""
    if table is None:
        return None
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    try:
        wanted = to_arrow_schema(from_arrow_schema(table.schema), timezone="UTC")
    except PySparkException as error:
        raise DataError(f"A batch cannot become a frame of Spark's: {error}") from error
    return table.cast(wanted)
