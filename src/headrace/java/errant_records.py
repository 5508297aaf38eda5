# SPDX-License-Identifier: Apache-2.0
"""Records that a Java sink task cannot handle (KIP-610).

A record is reported as it was consumed, maybe long after it was put and on another thread.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

from headrace.api.sink import ErrantRecordReporter
from headrace.java.errors import python_error
from headrace.java.jvm import java_class
from headrace.java.put_records import put_record
from headrace.java.task_calls import java_exception, proxy


class ErrantRecords:
    """The reporter of a Java task."""

    def __init__(self, reporter: ErrantRecordReporter) -> None:
        self._reporter = reporter
        self._reporting = threading.Lock()
        self._java: Any = None

    def java_reporter(self) -> Any:
        """Return Java's ``ErrantRecordReporter``, for any thread."""
        if self._java is None:
            self._java = proxy("org.apache.kafka.connect.sink.ErrantRecordReporter", report=self._report)
        return self._java

    def _report(self, record: Any, error: Any) -> Any:
        put = put_record(record)
        with self._reporting:
            reported = self._reporter.report(put, python_error(error))
        return _java_future(reported)


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
