# SPDX-License-Identifier: Apache-2.0
"""``headrace.api.frames.Frames`` in a task's process: requests jobs from the worker, and serves their executors."""

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
    """A task's frame jobs. For the task's thread, except ``on_job_ended``. Opens nothing before its first job."""

    def __init__(self, send: Callable[[object], None], connection: Link, limit: ResultLimit | None = None) -> None:
        """``send`` sends messages to the worker, over ``connection``; executors use the same kind of address.

        ``limit`` is for the results of ``run``.
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

    def on_job_ended(self, ended: FrameJobEnded) -> None:
        """Take a job's end from the worker. On the channel's listener thread."""
        if self._exchange is not None:
            self._exchange.on_job_ended(ended)

    def close(self) -> None:
        """Stop listening for executors, after the last job."""
        if self._exchange is not None:
            self._exchange.shut()

    @contextmanager
    def _running(self, job: FrameJob, result: FrameResult) -> Iterator[None]:
        if self._exchange is None:
            self._exchange = FrameExchange(_exchange_address(self._connection))
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


def _exchange_address(connection: Link) -> Path | Interface:
    """Return the address at which executors reach this process, of the same kind as the worker's connection."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        if same.family == socket.AF_UNIX:
            # In the worker's directory, which only this user may enter and which is removed with the worker.
            return Path(same.getpeername()).parent / f"frames-{os.getpid()}-{secrets.token_hex(4)}.sock"
        host = same.getsockname()[0]
    return Interface(host, host, tls=isinstance(connection, TlsConnection))


def _for_spark(table: pa.Table | None) -> pa.Table | None:
    """Cast a table to the types that Spark has. DataError if it has none for one of them."""
    if table is None:
        return None
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    try:
        wanted = to_arrow_schema(from_arrow_schema(table.schema), timezone="UTC")
    except PySparkException as error:
        raise DataError(f"A batch cannot become a frame of Spark's: {error}") from error
    return table.cast(wanted)
