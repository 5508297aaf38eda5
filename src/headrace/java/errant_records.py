# SPDX-License-Identifier: Apache-2.0
"""Records that a Java sink task cannot handle (KIP-610).

A record is reported as it was consumed, maybe long after it was put and on another thread. In Java it is known again by
``InternalSinkRecord``, which holds the record that was consumed, and passes it on to records that are made of it. So it
is here; what it holds is the batch that was put, and the record's place in it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Final

from headrace.api.record import SinkRecord
from headrace.api.sink import ErrantRecordReporter
from headrace.java.errors import python_error
from headrace.java.jvm import java_class, jpype
from headrace.java.records import python_sink_record
from headrace.java.task_calls import java_exception, proxy

_RUNTIME: Final = "org.apache.kafka.connect.runtime"
_INTERNAL_RECORD: Final = f"{_RUNTIME}.InternalSinkRecord"
_PROCESSING_CONTEXT: Final = f"{_RUNTIME}.errors.ProcessingContext"
_CONSUMED: Final = "org.apache.kafka.clients.consumer.ConsumerRecord"


class ErrantRecords:
    """The reporter of a Java task, and the origin of its records once it has asked for the reporter."""

    def __init__(self, reporter: ErrantRecordReporter) -> None:
        self._reporter = reporter
        self._reporting = threading.Lock()
        self._java: Any = None

    def java_reporter(self) -> Any:
        """Return Java's ``ErrantRecordReporter``, for any thread."""
        if self._java is None:
            self._java = proxy("org.apache.kafka.connect.sink.ErrantRecordReporter", report=self._report)
        return self._java

    def tracked(self, java_records: list[Any], records: Sequence[SinkRecord]) -> list[Any]:
        """Return Java records that can be reported as ``records``; the same ones for a task without the reporter."""
        if self._java is None:
            return java_records
        internal, context = java_class(_INTERNAL_RECORD), java_class(_PROCESSING_CONTEXT)
        consumed, integer = java_class(_CONSUMED), java_class("java.lang.Integer")
        batch = jpype().JProxy(java_class("java.util.function.Supplier"), inst=_PutBatch(records), convert=True)
        tracked = []
        for place, (java, record) in enumerate(zip(java_records, records, strict=True)):
            where = record.original_topic, record.original_kafka_partition or 0, record.original_kafka_offset
            tracked.append(internal(context(consumed(*where, batch, integer.valueOf(place))), java))
        return tracked

    def _report(self, record: Any, error: Any) -> Any:
        put = _put_record(record)
        with self._reporting:
            reported = self._reporter.report(put, python_error(error))
        return _java_future(reported)


class _PutBatch:
    """The records of one ``put``, as Java's records hold them."""

    def __init__(self, records: Sequence[SinkRecord]) -> None:
        self.records = records

    def get(self) -> None:
        """Have the interface that Java knows the batch by."""


def _put_record(record: Any) -> SinkRecord:
    """Return the record that was put. One that the task has made by itself is converted, as in Java."""
    if isinstance(record, java_class(_INTERNAL_RECORD)):
        origin = record.context().original()
        batch: _PutBatch = origin.key()
        return batch.records[int(origin.value())]
    return python_sink_record(record)


def _java_future(reported: Future[None]) -> Any:
    """Return a Java future that ends with ``reported``, on the thread that ends that."""
    future = java_class("java.util.concurrent.CompletableFuture")()

    def end(ended: Future[None]) -> None:
        error = ended.exception()
        if error is None:
            future.complete(None)
        else:
            future.completeExceptionally(java_exception(error))

    reported.add_done_callback(end)
    return future
